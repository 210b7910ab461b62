# SPDX-License-Identifier: BSD-3-Clause
"""Roots of guests for tests: a few programs of this system with their libraries, as a folder and as an image of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

#: By file system the words that make an image of a folder so that files are mapped one by one.
_MAKERS = {
    "ext4": ("mkfs.ext4", "-q", "-b", "4096", "-d", "{folder}", "{image}", "64M"),
    "erofs": ("mkfs.erofs", "--chunksize=4096", "{image}", "{folder}"),
}


def root_folder(folder: Path, *programs: str) -> Path:
    """A folder with these programs in its bin, and what they load where the loader looks for it."""
    (folder / "bin").mkdir(parents=True)
    for name in programs:
        file = shutil.which(name)
        assert file is not None, name
        shutil.copy2(file, folder / "bin" / name)
        told = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(0x", told):
            target = folder / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library, target)
    return folder


def image_of(folder: Path, image: Path, kind: str, *options: str) -> Path:
    """An image of a folder; else the test is skipped."""
    maker, *rest = _MAKERS[kind]
    words = [maker, *options, *(word.format(folder=folder, image=image) for word in rest)]
    if shutil.which(words[0], path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
        pytest.skip(f"there is no {words[0]} here")
    subprocess.run(words, check=True, capture_output=True, env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"})
    size = image.stat().st_size
    with image.open("ab") as file:
        file.truncate(-(-size // (2 << 20)) * (2 << 20))
    return image
