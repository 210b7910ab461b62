# SPDX-License-Identifier: BSD-3-Clause
"""Writes the script that draws the figures of reports into the file named: Vega, Vega-Lite and Vega-Embed, as vl-convert brings them.

It sets `vegaEmbed`, and may stand in a page's script element.
"""

import re
import sys
from pathlib import Path

import vl_convert


def page_script() -> str:
    """The script's text."""
    text: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return re.sub(r"</(script)", r"<\\/\1", text, flags=re.IGNORECASE).replace("<!--", "<\\!--")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page_script(), encoding="utf-8")
