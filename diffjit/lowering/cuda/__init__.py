"""Parts of nests and lanes on a GPU: what threads would take (`text.spreading`, `loops.sharing`), as kernels."""
