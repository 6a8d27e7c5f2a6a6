"""Sphinx configuration. Nothing is downloaded: `make docs` works without a network."""

import logging
import os
import sys
from pathlib import Path

import comanifold

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
os.environ["MPLBACKEND"] = "Agg"
# A dependency of the theme shows all messages of level INFO.
logging.getLogger("comanifold").setLevel(logging.WARNING)

project = "comanifold"
author = project_copyright = "The comanifold developers"
release = version = comanifold.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    # Our own, in _extensions.
    "mathml",
    "public_names",
    "repository_links",
    "run_pages",
]

exclude_patterns = ["_build", "_extensions", "_generated", "_static", "_templates"]
templates_path = ["_templates"]
highlight_language = "python"
# `name` in a docstring is code, and a link if it is a known name.
default_role = "py:obj"

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
# Equations are not numbered: their numbers in the text are those of the paper.
myst_dmath_double_inline = True

autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_default_options = {"inherited-members": False}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "gallery_order.Order",
    "download_all_examples": False,
    "abort_on_example_error": True,
    "show_signature": False,
    # Report only long times: they depend on the machine.
    "min_reported_time": 10,
}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "comanifold"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#31688e", "color-brand-content": "#31688e"},
    "dark_css_variables": {"color-brand-primary": "#7ab8d9", "color-brand-content": "#7ab8d9"},
}
