# SPDX-License-Identifier: BSD-3-Clause
"""Where history is kept: a file below the user's data folder, another one, or a PostgreSQL server."""

from __future__ import annotations

import os
from pathlib import Path

from nodewise.base.errors import InputError

#: The variable that names another file, or a server; `OFF` turns history off.
VARIABLE = "NODEWISE_HISTORY"
OFF = "off"
_SERVER = ("postgresql://", "postgres://")


def is_server(place: str) -> bool:
    """Whether a place is that of a PostgreSQL server."""
    return place.startswith(_SERVER)


def history_place(given: str | None = None) -> str | None:
    """The file's path, or the server's URL: what is given, else what the variable says, else the user's own file.

    None where it is turned off. Raises InputError where there is no home to keep it in, or the URL is of another kind of server.
    """
    place = given or os.environ.get(VARIABLE, "")
    if place == OFF:
        return None
    if is_server(place):
        return place
    if "://" in place:
        kind = place.partition("://")[0]
        raise InputError(f"history cannot be kept by {kind}", "name a file, or postgresql://USER@HOST/DATABASE")
    if place:
        return str(Path(place).absolute())
    base = os.environ.get("XDG_DATA_HOME", "")
    try:
        folder = Path(base) if base.startswith("/") else Path.home() / ".local/share"
    except RuntimeError as problem:
        raise InputError("there is no home to keep history in", f"name a file by {VARIABLE}") from problem
    return str(folder / "nodewise/history.sqlite")
