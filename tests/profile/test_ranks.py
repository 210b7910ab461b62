# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks are recorded, as each decides by itself."""

import os
import subprocess
from pathlib import Path

import pytest

from nodewise.profile.perf import Perf, Recording
from nodewise.profile.ranks import NUMBERS, folder_of_ranks, rank_words, read_ranks

ECHO = Perf("echo", "6.1", "cycles:u", True)


@pytest.mark.parametrize(
    ("text", "among"),
    [
        ("0", {0}),
        ("0-2,7", {0, 1, 2, 7}),
        ("3,3,1", {1, 3}),
        ("every:4", {0, 4, 8}),
        ("every:1", set(range(10))),
        ("", set(range(10))),
    ],
)
def test_ranks_are_read(text: str, among: set[int]) -> None:
    ranks = read_ranks(text)
    assert {r for r in range(10) if r in ranks} == among
    assert ranks.all == (len(among) == 10)


@pytest.mark.parametrize(
    "text", ["a", "1-", "2-1", "0-99999", "1,,2", "-1", "1.5", "every:0", "every:", "every:-2", "0-9999,10000-10001"]
)
def test_what_is_no_list_of_ranks_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_ranks(text)


@pytest.mark.parametrize("into", ["/x/perf.data", "/x y/it's"])
@pytest.mark.parametrize(("ranks", "recorded"), [("", "0 1 3 64"), ("0-1", "0 1"), ("3,13", "3"), ("every:64", "0 64")])
def test_the_ranks_that_are_named_are_recorded_and_the_others_run(
    tmp_path: Path, ranks: str, recorded: str, into: str
) -> None:
    into = f"{tmp_path}{into}"
    for number in ("0", "1", "3", "64"):
        words = rank_words(
            Recording(ECHO, Path(into), 99, "none", False).words([]),
            into,
            read_ranks(ranks),
            ["printf", "%s", "it's me"],
        )
        done = subprocess.run(
            words, env={"PMIX_RANK": number, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
        )
        if number in recorded.split():
            folder, _, name = into.rpartition("/")
            assert f"-o {folder}/{os.uname().nodename}/{name}.{number} " in done.stdout
            assert done.stdout.endswith("-- printf %s it's me\n")
        else:
            assert done.stdout == "it's me"


@pytest.mark.parametrize("variable", NUMBERS)
def test_a_rank_knows_its_number_by_each_launchers_variable(tmp_path: Path, variable: str) -> None:
    words = rank_words(["echo", f"{tmp_path}/f"], f"{tmp_path}/f", read_ranks("2"), ["true"])
    done = subprocess.run(
        words, env={variable: "2", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("f.2 true\n")


@pytest.mark.parametrize(
    ("launcher", "folder"),
    [
        ("mpirun -n 2 -wdir sub", "sub"),
        ("mpirun --wdir /a/b -n 2", "/a/b"),
        ("mpirun -wd sub -n 2", "sub"),
        ("mpiexec -n 2", None),
        ("srun --chdir=/x -n 2", "/x"),
        ("srun -D y -n 2", "y"),
        ("mpirun -wdir", None),
        ("", None),
    ],
)
def test_where_ranks_run_is_read(launcher: str, folder: str | None) -> None:
    found = folder_of_ranks(launcher.split())
    assert found == (None if folder is None else Path(folder))
