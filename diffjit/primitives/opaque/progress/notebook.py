"""The bar of `tqdm.notebook`."""

# pyright: basic, reportMissingModuleSource=false, reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import tqdm.notebook

from diffjit.primitives.opaque.progress.bars import unseen

unseen(tqdm.notebook)
