# SPDX-License-Identifier: BSD-3-Clause
"""Each vector function of native/simd_math has a fixed header: lane types, largest error, valid range."""

import re
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "native/simd_math").glob("*-inl.h"))
HEADER = r"// {name}\(d, [\w, ]+\): [^\n]+\n(?:// \w[^\n]*\n)?//   Lane types: \w[^\n]*\n//   Max error: ([\d.]+) ulp\n//   Valid range: [^\n]+\n"


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_every_function_says_types_error_and_range(file: Path) -> None:
    text = file.read_text()
    names = set(re.findall(r"^HWY_INLINE \S+ (\w+(?:_lanes\w*|_in_place|_error))\(", text, re.MULTILINE))
    assert names, file
    for name in sorted(names):
        found = re.search(HEADER.format(name=name), text)
        assert found is not None and float(found[1]) <= (4 if name.endswith("_quick") else 1), name
