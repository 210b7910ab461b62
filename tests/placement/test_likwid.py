# SPDX-License-Identifier: BSD-3-Clause
"""likwid's expressions, compared with what its own code answered (tools/likwid.py) on machines that it was given."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects.likwid import read_likwid, write_likwid
from nodewise.placement.rendering import NotExpressibleError
from tests.placement.likwid_answers import difference
from tests.placement.runtimes.mpirun5 import machine_of
from tests.placement.test_dialects import LIKWID, synthetic
from tests.placement.whole import hold

FILES = sorted((Path(__file__).parent / "recorded").glob("likwid-*.jsonl"))
ANSWERS = {path.stem.removeprefix("likwid-"): list(map(json.loads, path.read_text().splitlines())) for path in FILES}


@pytest.mark.parametrize("version", ANSWERS)
def test_an_expression_means_what_it_means_to_likwid(version: str) -> None:
    assert len(ANSWERS[version]) > 100
    assert [text for one in ANSWERS[version] if (text := difference(one, version)) is not None] == []


def test_where_versions_differ_it_is_said() -> None:
    assert list(ANSWERS) == ["5.2.2", "5.4.1", "5.5.1"]
    said = {}
    for version, answers in ANSWERS.items():
        for one in answers:
            said.setdefault((one["machine"], one["text"]), {})[version] = one["processors"]
    differing = [key for key, found in said.items() if len({str(real) for real in found.values()}) > 1]
    assert differing
    for machine, text in differing:
        try:
            reported = read_likwid(machine_of(machine), text)[1]
        except InputError as problem:
            reported = [problem.what]
        assert any(re.search(r"likwid 5\.4 takes \w\d\d for|likwid 5\.5 runs past", one) for one in reported), text


def test_a_list_that_is_too_long_for_likwid_is_warned_of() -> None:
    _, notes = read_likwid(machine_of("pack:1 numa:1 core:2 pu:1"), "N@N:0")
    assert "likwid 5.0 to 5.5 write 3 entries, past the end of its list of 2: likwid-pin may crash" in notes


def test_after_a_whole_domain_likwid_lists_no_more_than_that_has() -> None:
    machine = machine_of("pack:4 numa:1 l3:1 core:6 pu:1")
    found, notes = read_likwid(machine, "S2@E:M3:15@N:0-7")
    assert found == [*range(12, 24), *range(8)]
    assert "likwid 5.0 to 5.5 list no more than 6 entries of E:M3:15, as S2 stands before it" in notes


def test_a_range_down_to_zero_is_warned_of() -> None:
    machine = machine_of("pack:1 numa:1 core:4 pu:1")
    assert any("likwid 5.5 runs past the end of its list at 3-0" in note for note in read_likwid(machine, "3-0")[1])
    assert read_likwid(machine, "0-1,3-2") == ([0, 1, 3, 2], [])


#: By a machine and what of it is allowed, expressions up to each bound and beyond, of each domain and way to spread.
TEXTS: dict[tuple[str, str | None], str] = {
    (LIKWID, None): """
        S1:scatter S0:scatter:3 S0:balanced:2 S1:cbalanced:3 C0:scatter M0:scatter:2 D1:balanced D:scatter:3 C:scatter:4
        -c_3 -C_N:1 likwid-pin_-c_0-1 likwid-pin_-C_N:0_./a likwid-pin N:0-9 N:0,9-11 N:7 N:8 S0:4 S0:0-3 S0:0-4 0_1 N:0;1
        N: N:x S Sx S2 S:scatter:0 S:scatter:1 S:scatter:8 S:scatter:9 S:balanced:8 S:balanced:9 S:cbalanced:8 S:cbalanced:9
        S:balanced:3 S:cbalanced:5 S:cbalanced:7 N:balanced:9 E:N E:N:8 E:N:9 E:S0:9:1:1 E:N:65536 E:N:65537 E:N:1:65536:1
        E:N:1:65537:1 E:N:1:1:65536 E:N:1:1:65537 E:N:0 E:N:1:0:1 E:N:1:1:0 E:N:1:1:1 E:S0:4:2:2:1 E:S0:2:1:1:3 E:S0:2:1:1:4
        E:S0:2:2:2:2 E:S0:3:3:1:1 E:S0:6:2:3 E:N:2:3 E:N:2:3: E:S0:3:4:1 E:S0:3:1:4 E:S0:3:1:3 0-65535 65535-0 0-65536
        65536-0 0,0 0,0,1,1 7-0 10-0,1 0,8 8 3-1 0-0 00-1 5-00 10-1,0 N@0-3@N S0@N S0@S1@N:0-7 S0@S:scatter S0@S:balanced
        S0@0-7 S0@N@E:N:8 S0@e:N:8 N@S0@N S0@L:N:0-7 S0@E:N:4 L:N:0 L:S0 L:N L:x L:0 E:0 l:N:0 x y:0 s0 m e S0:0-1@S1:0@
        0@@1 @0 0- 0-x S0:0- N:0-3@N:0-3 N:0-3@N:0-3@N:0 0,0,0,0,0 0-3,0-4 0-3,0-3 S:middle
    """,
    (LIKWID, "1-2,5-7"): """
        0 0-4 0-5 S0 S1 N S:scatter S:scatter:4 S:balanced:5 S:cbalanced:4 S:cbalanced:5 S1:cbalanced:3 M:scatter L:S1:0-2
        E:N E:N:6 E:S1:5 N:5 N:scatter S1:scatter
    """,
    ("pack:12 core:2 pu:1", None): """
        S9:0 S10:0 S12:0 S11:scatter S9:scatter S1:0 S:scatter:13 S100:0 S:balanced:14 S:cbalanced:14 S:cbalanced:24
    """,
    ("core:3 pu:1", None): "S0 D0 C0 M0 S1 D:scatter M:balanced:2 E:D0:2 2@1@0 2@2@0@1",
}


def test_all_that_expressions_come_to() -> None:
    said = []
    for (shape, allow), texts in TEXTS.items():
        said.append(f"# {shape} {allow or 'all'}")
        for text in (one.replace("_", " ") for one in texts.split()):
            try:
                found, notes = read_likwid(synthetic(shape, allow), text)
            except InputError as problem:
                said.append(f"{text}: {problem.what} | {problem.hint}")
                continue
            said += [f"{text}: {found}", *(f"  {note}" for note in notes)]
    hold("likwid", said)


@pytest.mark.parametrize(
    ("machine", "numbers", "written"),
    [
        ("pack:1 core:2 pu:1", [0, 1, 0, 1, 0], "0,1"),
        ("pack:1 core:2 pu:1", [1, 1, 1], "1"),
        ("pack:1 core:2 pu:1", [0, 0], "0,0"),
        ("pack:1 core:4 pu:1", [3, 1, 2, 3, 1, 2, 3], "3,1,2"),
        ("pack:1 core:16 pu:1", [*range(16), *range(4)], "0-15"),
        ("pack:1 core:8 pu:1", [0, 1, 2, 4, 5, 7], "0-2,4,5,7"),
        ("pack:1 core:4 pu:1", [0, 1, 3, 2], "0,1,3,2"),
        ("pack:1 core:4 pu:1", [0, 1, 2, 3], "0-3"),
    ],
)
def test_more_threads_than_processors_are_written_as_a_list_that_starts_over(machine, numbers, written) -> None:
    there = machine_of(machine)
    found = write_likwid(there, [(n,) for n in numbers])
    assert found.words[-1] == written
    listed, notes = read_likwid(there, written)
    assert [listed[i % len(listed)] for i in range(len(numbers))] == numbers
    # likwid-pin counts the threads of its list where nobody else does
    assert found.env.get("OMP_NUM_THREADS", str(len(listed))) == str(len(numbers))
    assert not any("crash" in note for note in notes)


@pytest.mark.parametrize("numbers", [[0, 0, 0, 1, 1], [0, 1, 1], [1, 0, 1, 0, 0]])
def test_what_no_list_of_likwid_gives_is_refused(numbers) -> None:
    with pytest.raises(
        NotExpressibleError, match=r"^likwid-pin cannot .* no more entries than the machine has processors, 2, .*"
    ):
        write_likwid(machine_of("pack:1 core:2 pu:1"), [(n,) for n in numbers])


def test_the_real_likwid_runs_what_is_written(tmp_path) -> None:
    if shutil.which("likwid-pin") is None or shutil.which("gcc") is None:
        pytest.skip("likwid-pin or gcc is not here (Debian: likwid, gcc)")
    from nodewise.machine.sources import load_machine

    machine = load_machine(None, None)
    if set(machine.allowed) != set(machine.pus):
        pytest.skip("only a part of this machine may be used")
    program = tmp_path / "sits"
    source = (
        "#define _GNU_SOURCE\n#include <sched.h>\n#include <stdio.h>\n#include <omp.h>\nint main(void){\n"
        "#pragma omp parallel for ordered schedule(static, 1)\n"
        "for (int i = 0; i < omp_get_num_threads(); i++) { int p = sched_getcpu();\n#pragma omp ordered\n"
        'printf("%d\\n", p); } }\n'
    )
    subprocess.run(["gcc", "-fopenmp", "-x", "c", "-", "-o", program], input=source, text=True, check=True)
    asked = [machine.pus[i % len(machine.pus)] for i in range(2 * len(machine.pus) + 1)]
    written = write_likwid(machine, [(n,) for n in asked])
    env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", **written.env}
    ran = subprocess.run(
        [written.words[0], "-q", *written.words[1:], program], env=env, capture_output=True, text=True, check=True
    )
    assert [int(line) for line in ran.stdout.split()] == asked, ran.stdout


@pytest.mark.parametrize("text", ["n:0", "n", "s0:0", "c0:0", "e:N:2", "l:N:0", "E:n:2", "L:n:0", "n:scatter"])
def test_likwids_letters_are_capitals(text: str) -> None:
    """As the likwid-pin of 5.2.2, which fails to parse these."""
    with pytest.raises(InputError, match=r"likwid takes no small letters|column 3"):
        read_likwid(machine_of("pack:1 numa:1 core:2 pu:1"), text)
