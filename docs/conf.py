"""Sphinx configuration. The build executes the notebooks and treats warnings as errors."""

import soacraft

project = "soacraft"
author = "the soacraft developers"
copyright = author
version = release = soacraft.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"  # the build is the test of the notebooks
nb_execution_timeout = 120
nb_execution_raise_on_error = True

autodoc_member_order = "bysource"
autodoc_typehints = "description"

html_theme = "furo"
html_title = "soacraft"
