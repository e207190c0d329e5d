"""Sphinx configuration."""

import lasec

project = "lasec"
author = "The lasec developers"
copyright = "2026, the lasec developers"
release = lasec.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
napoleon_google_docstring = False
napoleon_use_rtype = False
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "lasec"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"
myst_heading_anchors = 3


def setup(app):
    """Leave out the fields of NamedTuples, whose generated docstrings say nothing."""
    app.connect(
        "autodoc-skip-member",
        lambda app, what, name, member, skip, options: (
            True if str(member.__doc__).startswith("Alias for field") else None
        ),
    )
