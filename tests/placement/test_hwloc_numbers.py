# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of the system's in hwloc's locations, where they repeat from package to package or have gaps: as hwloc-calc answers."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.api.place import place
from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine


def _numbered(folder: Path, text: str, numbers: list[int]) -> Path:
    """A machine whose cores have these numbers, one after the other."""
    path = folder / "machine.xml"
    subprocess.run(["lstopo-no-graphics", "-i", text, "-f", str(path)], check=True, capture_output=True, timeout=20)
    given = iter(numbers)

    def renumbered(found: re.Match[str]) -> str:
        return f'{found[1]}os_index="{next(given)}"'

    path.write_text(re.sub(r'(type="Core" )os_index="\d+"', renumbered, path.read_text()))
    return path


def _asked(machine: Path, location: str) -> list[int]:
    words = ["hwloc-calc", "-i", str(machine), "-p", *location.split(), "--po", "-I", "PU"]
    said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20).stdout.strip()
    return sorted(int(p) for p in said.split(",") if p)


@pytest.mark.some(2)
@pytest.mark.skipif(
    not (shutil.which("hwloc-calc") and shutil.which("lstopo-no-graphics")), reason="the package hwloc is not installed"
)
@pytest.mark.parametrize("seed", range(6))
def test_the_first_of_those_with_one_number_is_meant(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    packages, cores = draw.choice([1, 2, 3]), draw.choice([2, 4, 5])
    own = sorted(draw.sample(range(cores + 2), cores))
    machine = _numbered(tmp_path, f"pack:{packages} core:{cores} pu:2", own * packages)
    locations = [f"core:{n}" for n in range(cores + 2)]
    locations += ["core:all", "core:odd", "core:even", "core:1-2", f"package:{packages - 1}.core:{own[-1]}"]
    answered = 0
    for location in locations:
        real = _asked(machine, location)
        try:
            found = place(hwloc=f"-p {location}", machine=f"xml:{machine}", threads=1).places[0]
        except InputError:
            assert real == [], location
            continue
        answered += 1
        assert sorted(found) == real, location
    assert answered > cores


@pytest.mark.skipif(
    not (shutil.which("hwloc-calc") and shutil.which("lstopo-no-graphics")), reason="the package hwloc is not installed"
)
@pytest.mark.parametrize("seed", range(4))
def test_what_a_cpuset_has_not_is_neither_counted_nor_allowed(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    text = draw.choice(["pack:2 core:4 pu:2", "pack:2 l2:2 core:2 pu:1", "numa:2 core:5 pu:1", "core:8 pu:1"])
    machine = _numbered(tmp_path, text, list(range(16)))
    written = machine.read_text()
    everything = int(re.findall(r'allowed_cpuset="(0x[0-9a-f]+)"', written)[0], 16)
    kept = everything & draw.randrange(1, 1 << everything.bit_length()) or 1
    machine.write_text(written.replace(f'allowed_cpuset="0x{everything:08x}"', f'allowed_cpuset="0x{kept:08x}"'))
    allowed = [p for p in range(everything.bit_length()) if kept >> p & 1]
    there = load_machine(str(machine))
    assert list(there.allowed) == allowed and len(there.pus) == everything.bit_length()
    if kept == everything:
        pytest.fail("nothing was taken away")
    for location in (
        "all",
        "core:0",
        "core:1-2",
        "core:all",
        "pu:odd",
        "pu:3",
        "package:1",
        "package:0.core:1",
        "numa:0",
    ):
        words = ["hwloc-calc", "-i", str(machine), location, "--po", "-I", "PU"]
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20).stdout.strip()
        real = sorted(int(p) for p in said.split(",") if p)
        try:
            placed = place(hwloc=location, machine=there, threads=1)
        except InputError:
            assert real == [], location
            continue
        assert sorted(placed.zones[0]) == real, location
        words[3] = placed.render("hwloc").words[1]
        again = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
        assert sorted(map(int, again.split(","))) == real, location
