"""The bar of `tqdm.notebook`."""

# pyright: basic, reportMissingModuleSource=false, reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import tqdm.notebook

from diffjit.primitives.opaque.progress.bars import Bar, trange, write
from diffjit.primitives.registry import implements

implements(tqdm.notebook.tqdm)(Bar)
implements(tqdm.notebook.trange)(trange)
implements(tqdm.notebook.tqdm.write)(write)
