# SPDX-License-Identifier: BSD-3-Clause
"""Every study that is installed keeps the contract; nobody edits this to add one."""

import contextlib
import os
import shlex
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from nodewise.base.errors import InputError, UnavailableError
from nodewise.cli.commands.study import command as study_command
from nodewise.cli.commands.study import split_knobs
from nodewise.studies import commands, peer_worker, rules
from nodewise.studies.commands import Contender, simd_targets, worker_command
from nodewise.studies.contract import Knob, parse_knobs
from nodewise.studies.discovery import Found, find_study, study_names
from nodewise.studies.rules import Rule, contract, variant_cases
from nodewise.tuning.known_axes import axis_names
from tests.kernel_symbols import no_kernel_symbols
from tests.runner import mpis

__all__ = ["no_kernel_symbols"]
pytestmark = pytest.mark.usefixtures("no_kernel_symbols")

STUDIES = [find_study(name) for name in study_names()]
PEERS = rules.peers_are_right_or_say_why_they_do_not_run
RANKS = rules.variants_are_right_over_ranks


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long, id="every")])
@pytest.mark.parametrize(
    ("found", "number"),
    [
        pytest.param(found, number, id=f"{found.study.name}-{dict(point)}")
        for found in STUDIES
        for number, point in enumerate(found.study.test_points)
    ],
)
def test_variants_agree_with_the_trusted_result(
    found: Found, number: int, every: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of a study's points; numbers of threads and instruction sets in turn.

    Variants are tried at every third point, those over a library at every sixth and libraries at every ninth. The long
    tests have all of each.
    """
    monkeypatch.setattr(rules, "simd_targets", lambda found: _TARGETS(found.study.name))
    point = found.study.test_points[number]
    faults = []
    for place, (contender, _) in enumerate(case for case in _CASES(found.study.name) if case[1] is point):
        among = 9 if contender.kind == "peer" else 6 if contender.library is not None else 3
        # each at one at least
        if every or (number + place) % min(among, len(found.study.test_points)) == 0:
            faults += rules.a_variant_is_right(found, contender, point, every=every)
    assert faults == []


def _asked_once(ask: Callable[..., list[Contender]]) -> Any:
    """What a study has at a point: to ask takes seconds where every row is a program that is tried."""
    study = {found.study.name: found for found in STUDIES}
    at = cache(lambda name, point, *among: ask(study[name], dict(point), *among))

    def asked(found: Found, point: Mapping[str, str], *among: Collection[str] | None) -> list[Contender]:
        only = (a if a is None else tuple(sorted(a)) for a in among)
        return list(at(found.study.name, tuple(point.items()), *only))

    return asked


_TARGETS = cache(lambda name: simd_targets(find_study(name)))
_CASES = cache(lambda name: variant_cases(find_study(name)))
_SCRIPTS, _NATIVE = _asked_once(commands.script_contenders), _asked_once(commands.native_contenders)


def _asked_of_a_fork(question: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """As commands.ask_script, without loading Python and its modules for each: tests/studies/test_worker.py does that."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            code = 70
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    code = peer_worker.main(list(question[3:]))
            except BaseException:
                traceback.print_exc(file=err)
            finally:
                out.flush()
                err.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(question, code, out.read(), err.read())


@pytest.fixture
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "ask_script", _asked_of_a_fork)
    for module in (commands, rules):
        monkeypatch.setattr(module, "script_contenders", _SCRIPTS)
        monkeypatch.setattr(module, "native_contenders", _NATIVE)


@pytest.mark.parametrize(
    "rule",
    [r for r in contract(axis_names()) if r.faults not in (rules.variants_are_right, PEERS, RANKS)],
    ids=lambda r: r.demands,
)
@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
@pytest.mark.usefixtures("asked_once")
def test_a_rule_of_the_contract_holds(found: Found, rule: Rule) -> None:
    try:
        assert list(rule.faults(found)) == []
    except UnavailableError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    ("found", "every"),
    [
        pytest.param(
            found, every, id=f"{found.study.name}{', every' * every}", marks=[pytest.mark.long] * (every or number > 0)
        )
        for number, found in enumerate(found for found in STUDIES if found.study.joined)
        for every in (False, True)
    ],
)
@pytest.mark.usefixtures("asked_once")
def test_every_variant_is_right_over_ranks(found: Found, every: bool) -> None:
    """Each once, by numbers and at points in turn, and by the most at the last; to start them takes most of the time."""
    if not any(map(rules.launcher_here, mpis.KINDS)):
        pytest.skip("no MPI is here: its launcher and its library are needed")
    assert list(RANKS(found, every=every)) == []


@pytest.mark.parametrize("most", [1, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
@pytest.mark.usefixtures("asked_once")
def test_peers_are_right_or_say_why_they_do_not_run(found: Found, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loads libraries for seconds: the long tests have all of a study, the others the first."""

    def some(found: Found, point: Mapping[str, str]) -> list[Contender]:
        # by their names first, which are the same at each point, as whether one works may take long to find
        names = [c.name for c in _SCRIPTS(found, {}, ())]
        chosen = names[:: -(-len(names) // most) or 1]
        return [c for c in _SCRIPTS(found, point, chosen) if c.name in chosen]

    monkeypatch.setattr(rules, "script_contenders", some)
    assert list(PEERS(found)) == []


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_the_commands_in_its_page_can_be_given(found: Found) -> None:
    lines = (found.folder / "README.md").read_text().splitlines()
    examples = [shlex.split(line, comments=True) for line in lines if line.startswith("    nodewise study ")]
    assert examples
    for words in examples:
        given = study_command.make_context("study", words[2:]).params
        named = find_study(given["name"]).study
        knobs = parse_knobs(split_knobs(given["knob_words"]))
        if not knobs.keys() & named.uses.keys():
            named.point(knobs)


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_bad_arguments_are_one_clear_message(found: Found) -> None:
    for arguments in (["--variant", "none-such"], ["--variant"], [], ["--wings"], ["--variant", "x", "--threads", "0"]):
        done = subprocess.run(
            [worker_command(found, "x", {})[0], str(found.binary), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (1, 2)
        assert done.stderr.startswith("nodewise-worker: ") and len(done.stderr.splitlines()) == 1
    with pytest.raises(InputError, match="knob"):
        found.study.point({"none-such": "1"})


def test_a_knob_that_counts_bytes_takes_a_size_with_a_suffix() -> None:
    found = find_study("flops")
    for knob, faults in (
        (Knob("kib", "KiB of an array", "1"), 1),
        (Knob("kib", "KiB of an array", "1", unit=2**10), 0),
    ):
        changed = replace(found, study=replace(found.study, knobs=(knob,), test_points=(), bench=()))
        assert len(list(rules.the_knobs_are_whole(changed))) == faults
