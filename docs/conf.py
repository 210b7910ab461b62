# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx makes the site of docs/: `./dev docs`."""

from nodewise import __version__

project = "nodewise"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
exclude_patterns = ["schemas/*"]
html_theme = "furo"
html_title = f"nodewise {release}"
html_copy_source = False
html_show_sourcelink = False
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# what a page shows as typed at a terminal is text, whatever stands in it
highlight_options = {"console": {"stripnl": False}}
