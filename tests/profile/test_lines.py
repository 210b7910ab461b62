# SPDX-License-Identifier: BSD-3-Clause
"""Source lines of offsets in a file, as perf gives them, wherever the linker has put the text."""

import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.profile.lines import addr2line, places_of

SOURCE = "int marked(int x) {\n    return x + 1;\n}\nint main(void) {\n    return marked(-1);\n}\n"


@pytest.mark.skipif(addr2line() is None or shutil.which("readelf") is None, reason="the GNU binutils are not here")
@pytest.mark.parametrize("how", [(), ("-no-pie",), ("-Wl,-Ttext-segment=0x10000",)], ids=["pie", "fixed", "moved"])
def test_lines_are_found_however_a_program_is_linked(how: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O0", "-g", *how, "a.c", "-o", "a"], cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "a"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    address = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" marked"))
    heads = subprocess.run(["readelf", "-lW", "a"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    loads = [[int(w, 16) for w in line.split()[1:5]] for line in heads.splitlines() if line.split()[:1] == ["LOAD"]]
    [offset] = [off + address - at for off, at, _, size in loads if at <= address < at + size]
    assert (offset == address) == (how == ())
    assert places_of(str(tmp_path / "a"), [offset]) == {offset: (str(tmp_path / "a.c"), 1)}
