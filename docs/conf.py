"""Sphinx configuration of the documentation. Build it with `uv run sphinx-build -nW docs build/docs`."""

project = "golore"
author = "The golore authors"
copyright = "The golore authors"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "golore"
html_static_path: list[str] = []
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
