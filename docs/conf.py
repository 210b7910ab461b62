# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx makes the site of docs/: `./dev docs`."""

import click
from sphinx.application import Sphinx
from sphinx_click.ext import _format_option

from nodewise import __version__
from nodewise.cli.help import examples, grouped

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


def _in_groups(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """The options as `--help` has them: in groups, those of exporters and dialects, too."""
    del app
    lines.clear()
    for heading, options in grouped(context.command, context).items():
        lines += [f".. rubric:: {heading}", ""]
        for option in options:
            lines += [*_format_option(context, option), ""]


def _with_examples(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """The examples that `--help` shows, behind the usage."""
    del app
    if shown := examples(context.command):
        lines += [".. rubric:: Examples", "", ".. code-block:: shell", ""]
        lines += [f"   {text}" for line, does in shown for text in (f"# {does}", line)]
        lines.append("")


def setup(app: Sphinx) -> None:
    """What sphinx-click calls for each command."""
    app.connect("sphinx-click-process-options", _in_groups)
    app.connect("sphinx-click-process-usage", _with_examples)
