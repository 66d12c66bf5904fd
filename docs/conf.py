"""The site: `make docs` builds it from these pages, the docstrings and the examples."""

import augnet

project = "augnet"
author = "The augnet developers"
copyright = "The augnet developers, BSD-3-Clause"
version = release = augnet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "augnet"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

myst_heading_anchors = 3  # links to headings, as #the-heading

# Docstrings are plain words: what is between backticks is code.
default_role = "code"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 90
autosummary_generate = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
}
