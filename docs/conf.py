"""Sphinx settings: `sphinx-build -n -W docs docs/_build` builds the pages without a single warning."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

project = "diffjit"
author = "the diffjit developers"
copyright = "the diffjit developers"  # noqa: A001 - Sphinx's name for it
release = version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "diffjit"
html_show_sphinx = False
html_show_copyright = False
