# SPDX-License-Identifier: BSD-3-Clause
"""Versions of tools and libraries, from the package manager's own files and the names of libraries; no program is started."""

from __future__ import annotations

import re
import sqlite3
import struct
import tomllib
from collections.abc import Sequence
from fnmatch import translate
from pathlib import Path

from nodewise.nodes.reading.reader import LONGEST, Reader

_TABLE = Path(__file__).with_name("software.toml")
_DPKG, _RPM = "var/lib/dpkg/status", "var/lib/rpm/rpmdb.sqlite"
_RPM_FILES = (_RPM, "usr/lib/sysimage/rpm/rpmdb.sqlite")
#: Tags of an RPM's header (rpmtag.h): name, version, release.
_NAME, _VERSION, _RELEASE = 1000, 1001, 1002
_LIBRARY_FOLDERS = ("usr/lib64", "lib64", "usr/lib/*-linux-gnu", "usr/local/lib", "usr/local/lib64")
_MOST = 120


def read_software(r: Reader) -> dict[str, str] | None:
    """Versions by name: packages as they are called, libraries as `lib NAME`."""
    table = tomllib.loads(_TABLE.read_text())
    wanted = re.compile("|".join(translate(p) for p in table["packages"]))
    found = _dpkg(r, wanted)
    if found is None:
        found = next((made for file in _RPM_FILES if (made := _rpm(r, file, wanted)) is not None), None)
    libraries = _libraries(r.root, table["libraries"])
    if found is None and not libraries:
        r.lack("software", f"{_DPKG}, {_RPM}: not there, and no library that is known")
        return None
    everything = {**(found or {}), **libraries}
    return dict(r.cut("software", sorted(everything.items()), _MOST))


def _dpkg(r: Reader, wanted: re.Pattern[str]) -> dict[str, str] | None:
    """Installed packages of Debian's manager (deb-status: paragraphs of fields)."""
    try:
        text = (r.root / _DPKG).read_text(errors="replace")
    except OSError:
        return None
    found: dict[str, str] = {}
    for match in re.finditer(r"^Package: (\S+)\n(?:(?!\n\n).)*?^Version: (\S+)", text, re.MULTILINE | re.DOTALL):
        if wanted.fullmatch(match[1]) and "\nStatus: install ok installed\n" in match[0]:
            found[match[1]] = match[2][:LONGEST]
    return found


def _rpm(r: Reader, file: str, wanted: re.Pattern[str]) -> dict[str, str] | None:
    """Installed packages of RPM's database of version 4.16 or newer: an index of names, and headers as blobs."""
    path = r.root / file
    if not path.is_file():
        return None
    found: dict[str, str] = {}
    try:
        # a reader that does not take part in the journal leaves nothing behind
        base = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            for name, number in base.execute("SELECT key, hnum FROM Name").fetchall():
                text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
                if not wanted.fullmatch(text):
                    continue
                row = base.execute("SELECT blob FROM Packages WHERE hnum = ?", (number,)).fetchone()
                version = _rpm_version(row[0]) if row and isinstance(row[0], bytes) else None
                if version:
                    found[text] = version if text not in found else " ".join(sorted({*found[text].split(), version}))
        finally:
            base.close()
    except sqlite3.Error:
        return None
    return {name: version[:LONGEST] for name, version in found.items()}


def _rpm_version(blob: bytes) -> str | None:
    """Version and release in a header: count of entries, size of data, entries of (tag, type, offset, count), data."""
    try:
        entries, _ = struct.unpack_from(">II", blob)
        at = {}
        for i in range(min(entries, 10_000)):
            tag, _, offset, _ = struct.unpack_from(">IIiI", blob, 8 + 16 * i)
            at[tag] = 8 + 16 * entries + offset
        parts = [blob[at[tag] : blob.index(b"\0", at[tag])].decode(errors="replace") for tag in (_VERSION, _RELEASE)]
    except (struct.error, KeyError, ValueError):
        return None
    return "-".join(parts)


_LIBRARY_VERSION = re.compile(r"(\d[\w.]*?)(?:\.so)?")


def _libraries(root: Path, wanted: dict[str, str]) -> dict[str, str]:
    folders = [f for pattern in _LIBRARY_FOLDERS for f in sorted(root.glob(pattern)) if f.is_dir()]
    versions: dict[str, set[str]] = {}
    for folder in folders:
        names = _names(folder)
        for library, start in wanted.items():
            for name in names:
                if name.startswith(start) and (match := _LIBRARY_VERSION.fullmatch(name, len(start))):
                    versions.setdefault(library, set()).add(match[1])
    # of `40` and `40.30.4` the longer one says more
    return {
        f"lib {name}": " ".join(sorted(v for v in those if not any(w != v and w.startswith(f"{v}.") for w in those)))[
            :LONGEST
        ]
        for name, those in versions.items()
    }


def _names(folder: Path) -> Sequence[str]:
    try:
        return sorted(p.name for p in folder.iterdir())
    except OSError:
        return []
