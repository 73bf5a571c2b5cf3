"""The bar of `tqdm.auto`."""

# pyright: basic, reportMissingModuleSource=false, reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import tqdm.auto

from diffjit.primitives.opaque.progress.bars import Bar, trange, write
from diffjit.primitives.registry import implements

implements(tqdm.auto.tqdm)(Bar)
implements(tqdm.auto.trange)(trange)
implements(tqdm.auto.tqdm.write)(write)
