# SPDX-License-Identifier: BSD-3-Clause
"""Other arguments for what was promised, and whether it can be run here at all."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.experiments.confirm import Repetition, check_runnable, moved_paths, program_words, with_arguments
from nodewise.experiments.contenders import Contender
from nodewise.machine.sources import load_machine
from nodewise.placement.memory import MemoryPolicy
from nodewise.records.experiment import Experiment
from nodewise.runner.setting import Setting
from nodewise.verdicts.confirm import Promise
from tests.verdicts.cases import Runs, compared


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("./app -v in", 1),
        ("python3.11 run.py 5", 2),
        ("/usr/bin/python3 run.py", 2),
        ("python -m tool 5", None),
        ("python", None),
        ("sh -c ./app", None),
        ("env A=b ./app", None),
        ("numactl -m 0 ./app in", None),
        ("java -jar app.jar in", None),
        ("mpirun -n 4 ./app in", 4),
        ("mpirun -n 4 --map-by core python3 run.py in", 7),
        ("mpirun ./app in", None),
    ],
)
def test_where_a_programs_arguments_begin(command: str, words: int | None) -> None:
    assert program_words(command.split()) == words


@pytest.mark.parametrize(
    ("command", "asked", "other", "made"),
    [
        ("./app in", "./app in", "big -v", "./app big -v"),
        ("./app", "./app", "big", "./app big"),
        ("./app in", "./app in", "./app big", "./app big"),
        ("builds/x/app in", "./app in", "big", "builds/x/app big"),
        ("python3 run.py 5", "python3 run.py 5", "7", "python3 run.py 7"),
        ("mpirun -n 2 sh place.sh ./app in", "mpirun -n 4 ./app in", "big", "mpirun -n 2 sh place.sh ./app big"),
        ("./app --n 64 in", "./app --n {n} in", "--n {n} big", "./app --n 64 big"),
        ("env A=b ./app in", "env A=b ./app in", "env A=b ./app big", "env A=b ./app big"),
        ("sh wrap.sh env A=b ./app in", "env A=b ./app in", "env A=c ./app", "sh wrap.sh env A=c ./app"),
    ],
)
def test_other_arguments_take_the_place_of_the_programs_own(command: str, asked: str, other: str, made: str) -> None:
    assert with_arguments(command.split(), asked.split(), {"n": 64}, other.split()) == tuple(made.split())


@pytest.mark.parametrize(
    ("command", "asked", "other", "told"),
    [
        ("env A=b ./app in", "env A=b ./app in", "big", "cannot be determined"),
        ("./app --n 64", "./app --n {n}", "--n 5", "has no place|no place for it"),
        ("./other in x", "./app in", "big", "are not found"),
    ],
)
def test_what_cannot_be_replaced_is_refused(command: str, asked: str, other: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        with_arguments(command.split(), asked.split(), {"n": 64}, other.split())


def _repetition(setting: Setting) -> Repetition:
    promise = Promise("e", "then", "baseline", "a", 1.5, 1.4, 1.6, "./app")
    both = (Contender(Setting(("app",), name="baseline"), "app"), Contender(setting, "app"))
    return Repetition(promise, both, Experiment(Path("e"), {}))


def test_processors_and_nodes_that_are_not_here_are_named() -> None:
    machine = load_machine(None, None)
    fits = Setting(("app",), mask=machine.allowed, memory=MemoryPolicy("bind", (machine.numa_nodes[0].os_index,)))
    check_runnable(_repetition(fits), machine)
    with pytest.raises(InputError, match="needs processors 4000,4002, which are not there"):
        check_runnable(_repetition(replace(fits, mask=(*machine.allowed, 4000), places=((4002,),))), machine)
    with pytest.raises(InputError, match="needs NUMA nodes 77, which are not there"):
        check_runnable(_repetition(replace(fits, memory=MemoryPolicy("bind", (77,)))), machine)


def test_files_of_here_are_found_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "big.dat").touch()
    (here / "both.dat").touch()
    (there / "both.dat").touch()
    monkeypatch.chdir(here)
    made, notes = moved_paths(["big.dat", "both.dat", "-v"], there)
    assert made == (os.fspath(here / "big.dat"), "both.dat", "-v")
    assert notes == [f"runs are made in {there}, as then"]
    assert moved_paths(["big.dat"], here) == (("big.dat",), [])


@pytest.mark.parametrize(
    ("failing", "flaky"), [((), False), (("baseline",), True), (("a",), True), (("baseline", "a"), True)]
)
def test_a_promise_of_runs_of_which_some_failed_is_repeated_as_one(
    tmp_path: Path, failing: tuple[str, ...], flaky: bool
) -> None:
    def runs(name: str) -> Runs:
        return Runs(1.0, change=lambda run: {"error": "exit code 3"} if run == 2 and name in failing else {})

    earlier = compared(tmp_path / "then", {name: runs(name) for name in ("baseline", "a")})
    repetition = replace(_repetition(Setting(("app",), name="a")), earlier=earlier)
    assert repetition.flaky == flaky
