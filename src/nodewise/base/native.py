# SPDX-License-Identifier: BSD-3-Clause
"""Where the native programs and shared objects lie, in a wheel and in an editable install alike.

NODEWISE_NATIVE names another directory that holds them, such as one of an instrumented build.
"""

import importlib.util
import os
from pathlib import Path

from nodewise.base.errors import UnavailableError


def native_path(name: str) -> Path:
    """The path of a native file, by its path below `nodewise/native` (`nodewise-runner`, `studies/is.so`).

    Raises UnavailableError where nodewise was installed without its native part.
    """
    if override := os.environ.get("NODEWISE_NATIVE"):
        path = Path(override) / name
    else:
        # only found, not loaded: a report is drawn where the libraries of the extension are missing, too
        extension = importlib.util.find_spec("nodewise._core")
        if extension is None or extension.origin is None:
            raise UnavailableError("nodewise's native part is not built", "install with: pip install .")
        path = Path(extension.origin).parent / "native" / name
    if not path.exists():
        raise UnavailableError(
            f"{name} is missing from the installation at {path.parent}", "install again: pip install ."
        )
    return path
