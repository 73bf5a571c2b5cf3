"""An NVIDIA GPU, by the C interfaces of its driver and of cuBLAS."""
