"""Sphinx configuration."""

import os

import lasec

project = "lasec"
author = "The lasec developers"
copyright = "2026, the lasec developers"
release = lasec.__version__
version = release
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
napoleon_google_docstring = False
napoleon_use_rtype = False
exclude_patterns = ["_build"]
html_theme = "furo"
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")  # one version is canonical
html_title = f"lasec {release}"
html_static_path = ["_static"]
html_css_files = ["lasec.css"]
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"
autodoc_mock_imports = ["py4j", "pyspark"]  # 450 MB, for a page that shows no more with them
myst_heading_anchors = 4


def setup(app):
    """Leave out the fields of NamedTuples, whose generated docstrings say nothing."""
    app.connect(
        "autodoc-skip-member",
        lambda app, what, name, member, skip, options: (
            True if str(member.__doc__).startswith("Alias for field") else None
        ),
    )
