# SPDX-License-Identifier: BSD-3-Clause
"""The JavaScript that draws a page's figures: Vega, Vega-Lite and Vega-Embed, as vl-convert brings them.

Making it takes a JavaScript engine 150 MB and a second, so another process does that, once for each version.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import version

from nodewise.base.cache import cache_folder
from nodewise.base.errors import NodewiseError, StoreError
from nodewise.base.files import write_whole

_MAKE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle('window.vegaEmbed = vegaEmbed;').encode())"


@lru_cache(maxsize=1)
def bundle() -> str:
    """A script that sets `vegaEmbed`, to stand in a page's script element. Raises NodewiseError."""
    path = None
    # without a home, or where it cannot be written, it is made each time
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        path = cache_folder() / f"vega-{version('vl-convert-python')}.js"
        return path.read_text()
    made = _made()
    with contextlib.suppress(OSError, StoreError):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, made)
    return made


def _made() -> str:
    done = subprocess.run([sys.executable, "-c", _MAKE], capture_output=True, check=False)
    if done.returncode:
        raise NodewiseError(
            f"vl-convert could not make the script of the figures: {done.stderr.decode(errors='replace').strip()}",
            "install it again: pip install --force-reinstall vl-convert-python",
        )
    text = re.sub(r"</(script)", r"<\\/\1", done.stdout.decode(), flags=re.IGNORECASE)
    return text.replace("<!--", "<\\!--")
