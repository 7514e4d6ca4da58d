"""Sphinx configuration. The build executes the notebooks, makes the tables, and treats warnings as errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import soacraft

project = "soacraft"
author = "the soacraft developers"
copyright = author
version = release = soacraft.__version__

# docstrings, kernels, key, layers, tables and offline are ours, in _ext; the mathematics is drawn by a copy of MathJax
# in the pages
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "docstrings",
    "kernels",
    "key",
    "layers",
    "tables",
    "offline",
]
exclude_patterns = ["_build", "_ext", "generated", "jupyter_execute", "**.ipynb_checkpoints"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"  # the build is the test of the notebooks
nb_execution_timeout = 900  # of a busy machine
nb_execution_raise_on_error = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_title = "soacraft"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
