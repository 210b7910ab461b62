# SPDX-License-Identifier: BSD-3-Clause
"""Files of pipelines for tests."""

from pathlib import Path

#: Generator, checksums, two that compress, a merge, checksums verified, a file.
WHOLE = """[device.source]
kind = "generator"
size = "200KB"
count = 21
[device.sum]
kind = "checksum"
[device.pack]
kind = "compress"
instances = 2
[device.all]
kind = "merge"
order = "sequence"
[device.verify]
kind = "checksum"
[device.out]
kind = "file"
path = "out.gz"
[channel.raw]
from = "source"
to = "sum"
[channel.summed]
from = "sum"
to = "pack"
[channel.packed]
from = "pack"
to = "all"
[channel.merged]
from = "all"
to = "verify"
[channel.last]
from = "verify"
to = "out"
"""


def simple(source: str, middle: str = "", sink: str = 'kind = "discard"', more: str = "") -> str:
    """A source, what may be between, and a sink; `more` stands in each channel."""
    devices = f"[device.source]\n{source}\n[device.out]\n{sink}\n"
    if not middle:
        return f'{devices}[channel.raw]\nfrom = "source"\nto = "out"\n{more}\n'
    return (
        f'{devices}[device.middle]\n{middle}\n[channel.raw]\nfrom = "source"\nto = "middle"\n{more}\n'
        f'[channel.made]\nfrom = "middle"\nto = "out"\n{more}\n'
    )


def written(folder: Path, text: str) -> Path:
    """The text as a file."""
    path = folder / "p.toml"
    path.write_text(text)
    return path
