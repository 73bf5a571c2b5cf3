"""The bar of `tqdm.auto`."""

# pyright: basic, reportMissingModuleSource=false, reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import tqdm.auto

from diffjit.primitives.opaque.progress.bars import unseen

unseen(tqdm.auto)
