# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx makes the site of docs/: `./dev docs`."""

from html import escape
from pathlib import Path

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


#: Where `./dev docs` keeps pictures of pages, by kind and width.
PICTURES = Path(__file__).parents[1] / "build/pictures"
html_extra_path = [str(PICTURES)] if PICTURES.is_dir() else []
_WIDTHS = {390: 18, 1400: 36, 2560: 44}


def gallery(folder: Path) -> str:
    """HTML with the pictures of each kind of page beside each other, as wide as they are to each other; a sentence where there are none."""
    kinds = sorted(path.name.removesuffix("-1400.png") for path in folder.glob("*-1400.png"))
    if not kinds:
        return "The pictures were not made in this build: `./dev docs` makes them.\n"
    parts = []
    for kind in kinds:
        shown = "".join(
            f'<a href="{folder.name}/{escape(kind)}-{width}.png"><img src="{folder.name}/{escape(kind)}-{width}.png" '
            f'alt="The page of {escape(kind)}, {width} pixels wide" style="width:{share}%;vertical-align:top" loading="lazy"></a>\n'
            for width, share in _WIDTHS.items()
        )
        parts.append(f"## {kind}\n\n```{{raw}} html\n<p>{shown}</p>\n```\n")
    return "\n".join(parts)


def _with_pictures(app: Sphinx, name: str, source: list[str]) -> None:
    del app
    if name == "pages":
        source[0] = source[0].replace("<!-- pictures: put in by docs/conf.py -->", gallery(PICTURES / "pages"))


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
    """What Sphinx calls for each page, and sphinx-click for each command."""
    app.connect("source-read", _with_pictures)
    app.connect("sphinx-click-process-options", _in_groups)
    app.connect("sphinx-click-process-usage", _with_examples)
