# SPDX-License-Identifier: BSD-3-Clause
"""An experiment held against an earlier one: what differs is named, and only what is alike is compared."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.machine.model import Machine
from nodewise.records.experiment import Experiment
from nodewise.statistics.sequential import ALPHA, OpenLooks
from nodewise.statistics.unpaired import unpaired_interval
from nodewise.statistics.verdict import Word
from nodewise.verdicts.baseline import against_baseline, judge_unpaired, unlike
from nodewise.verdicts.baseline import differences as differences_of
from nodewise.verdicts.question import machine_of, question_of
from tests.surfaces import machine
from tests.verdicts.cases import BUSY, Runs, compared

HERE = replace(machine(2, 1), hostname="here", memory_bytes=64 << 30, kernel="6.1", transparent_huge_pages="madvise")


def _made(
    path: Path, a: float = 1.0, here: Machine = HERE, names: str = "ab", blocks: int = 12, **question: Any
) -> Any:
    runs = {name: Runs(a if name == names[0] else 0.5) for name in names}
    return compared(path, runs, blocks, machine=here.to_json(), **question)


def differences(now: Experiment, then: Experiment) -> list[str]:
    return differences_of(machine_of(now), question_of(now).environment, then)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"hostname": "there"}, "host: here then, there now"),
        ({"kernel": "6.2"}, "kernel: 6.1 then, 6.2 now"),
        ({"transparent_huge_pages": "never"}, "transparent huge pages: madvise then, never now"),
        ({"memory_bytes": 32 << 30}, "memory: 64 GiB then, 32 GiB now"),
        ({"processor": replace(HERE.processor, model="other")}, "processor: imaginary then, other now"),
        ({"processor": replace(HERE.processor, governor="powersave")}, "governor: none then, powersave now"),
        ({"limits": replace(HERE.limits, cpu_quota=1.5)}, "quota: none then, 1.5 now"),
        ({"limits": replace(HERE.limits, processors=(0,))}, "allowed processors: 0-1 then, 0 now"),
    ],
)
def test_each_fact_of_the_machine_that_differs_is_named(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    then, now = _made(tmp_path / "then"), _made(tmp_path / "now", here=replace(HERE, **change))
    assert differences(now, then) == [told]
    found = against_baseline(now, then)
    assert found.differences == (told,)
    assert {(p.name, p.comparable, p.ratio, p.verdict) for p in found.pairs} == {(n, False, None, None) for n in "ab"}


def test_memory_that_differs_by_little_more_cores_and_what_was_asked(tmp_path: Path) -> None:
    then = _made(tmp_path / "then", environment={"OMP_NUM_THREADS": "2", "KMP_AFFINITY": "none"})
    bit = _made(tmp_path / "bit", here=replace(HERE, memory_bytes=(64 << 30) + (1 << 20)))
    assert differences(bit, then) == [
        "KMP_AFFINITY: none then, not set now",
        "OMP_NUM_THREADS: 2 then, not set now",
    ]
    assert differences(then, bit)[1] == "OMP_NUM_THREADS: not set then, 2 now"
    larger = _made(tmp_path / "larger", here=replace(machine(4, 2), hostname="here"))
    assert {"cores: 2 then, 4 now", "hardware threads: 2 then, 8 now"} <= set(differences(larger, bit))
    rates = _made(tmp_path / "rates", objective={"metric": "rate", "maximise": True})
    assert differences(rates, bit) == []
    assert unlike(rates, bit) == ["what is compared: seconds then, rate now"]
    assert unlike(bit, then) == differences(bit, then)
    found = against_baseline(rates, bit)
    assert found.asked[0] == "what is compared: seconds then, rate now"
    assert not any(p.comparable for p in against_baseline(rates, bit, any_machine=True).pairs)


def test_each_is_held_against_the_one_of_its_name(tmp_path: Path) -> None:
    then, now = _made(tmp_path / "then"), _made(tmp_path / "now", 0.8)
    found = against_baseline(now, then)
    assert (found.experiment, found.differences) == (str(tmp_path / "then"), ())
    assert found.taken_at == then.question["started_at"]
    first, second = sorted(found.pairs, key=lambda pair: pair.name)
    assert (first.name, first.comparable, first.verdict) == ("a", True, Word.FASTER)
    assert first.ratio == pytest.approx(1.25, rel=0.01) and first.low < 1.25 < first.high
    assert first.sentence.endswith(" faster")
    assert (second.name, second.verdict) == ("b", Word.NO_DIFFERENCE)


def test_the_only_ones_are_compared_whatever_their_names_and_others_are_not(tmp_path: Path) -> None:
    one, other = _made(tmp_path / "one", names="a"), _made(tmp_path / "other", 0.5, names="z")
    (pair,) = against_baseline(other, one).pairs
    assert (pair.name, pair.comparable, pair.verdict) == ("z", True, Word.FASTER)
    none = against_baseline(_made(tmp_path / "none", names="xy"), one)
    assert (none.pairs, none.differences) == ((), ()) and none.asked == ("commands: a then, x, y now",)


def test_few_runs_have_a_ratio_and_no_interval(tmp_path: Path) -> None:
    found = against_baseline(_made(tmp_path / "now", 0.8, blocks=3), _made(tmp_path / "then", blocks=3))
    (pair,) = [p for p in found.pairs if p.name == "a"]
    assert (pair.low, pair.high, pair.verdict) == (None, None, Word.UNDECIDED)
    assert pair.ratio == pytest.approx(1.25, rel=0.05)


def test_another_machine_is_compared_where_that_is_asked_and_named(tmp_path: Path) -> None:
    then, now = _made(tmp_path / "then"), _made(tmp_path / "now", 0.8, here=replace(HERE, hostname="there"))
    found = against_baseline(now, then, any_machine=True)
    assert (found.differences, found.any_machine) == (("host: here then, there now",), True)
    assert {p.name: p.verdict for p in found.pairs} == {"a": Word.FASTER, "b": Word.NO_DIFFERENCE}


def test_labels_match_whatever_is_behind_them_and_then_commands_do(tmp_path: Path) -> None:
    def asked(**texts: str) -> dict[str, Any]:
        return {"contenders": [{"name": n, "text": t, "shell": None, "steps": {}} for n, t in texts.items()]}

    then = _made(tmp_path / "then", **asked(a="./app 1", b="./b"))
    labels = against_baseline(_made(tmp_path / "now", **asked(a="./app 2", b="./b")), then)
    assert [p.name for p in labels.pairs] == ["a", "b"] and all(p.comparable for p in labels.pairs)
    assert labels.commands == ("a: ./app 1 then, ./app 2 now",)
    renamed = against_baseline(_made(tmp_path / "renamed", names="xy", **asked(x="./b", y="./app 1")), then)
    assert [(p.name, p.name_then, p.command_then) for p in renamed.pairs] == [("x", "b", "./b"), ("y", "a", "./app 1")]


def test_more_intervals_that_hold_together_are_wider(tmp_path: Path) -> None:
    then, now = _made(tmp_path / "then"), _made(tmp_path / "now", 0.8)
    alone, many = (against_baseline(now, then, looks=OpenLooks(0.05, n)).pairs[0] for n in (1, 20))
    assert alone.high is not None and (many.high is None or alone.high < many.high)


def test_what_failed_then_is_no_partner(tmp_path: Path) -> None:
    runs = {"a": Runs(1.0), "b": Runs(0.5, fields={"error": "exit code 3"})}
    then = compared(tmp_path / "then", runs, 12, machine=HERE.to_json())
    found = against_baseline(_made(tmp_path / "now", names="bc"), then)
    # neither b, which never ran well, nor a, which is another name, is held against b
    assert found.pairs == ()


def test_what_counts_as_none_is_what_is_asked_now(tmp_path: Path) -> None:
    for within_then, within_now, word in ((0.01, 0.2, Word.NO_DIFFERENCE), (0.2, 0.01, Word.FASTER)):
        then = _made(tmp_path / f"then {word}", names="a", blocks=30, within=within_then)
        now = _made(tmp_path / f"now {word}", 0.9, names="a", blocks=30, within=within_now)
        (pair,) = against_baseline(now, then).pairs
        assert pair.verdict is word


def _busy(runs: int) -> Callable[[int], Mapping[str, Any]]:
    return lambda run: {"marks": (BUSY,)} if run < runs else {}


@pytest.mark.parametrize(("then_runs", "now_runs", "said"), [(0, 7, "undecided: the"), (7, 0, "undecided: then the")])
def test_a_busy_machine_says_nothing_against_a_baseline(
    tmp_path: Path, then_runs: int, now_runs: int, said: str
) -> None:
    then = compared(tmp_path / "then", {"a": Runs(1.0, change=_busy(then_runs))}, 12, machine=HERE.to_json())
    now = compared(tmp_path / "now", {"a": Runs(2.0, change=_busy(now_runs))}, 12, machine=HERE.to_json())
    (pair,) = against_baseline(now, then).pairs
    assert (pair.verdict, pair.low, pair.high) == (Word.UNDECIDED, None, None)
    assert pair.ratio == pytest.approx(0.5, rel=0.02)
    assert pair.sentence == f"{said} machine was busy (7 of 12 runs, other load)"
    accepted = compared(
        tmp_path / "accepted",
        {"a": Runs(2.0, change=_busy(now_runs))},
        12,
        machine=HERE.to_json(),
        accept_disturbed=True,
    )
    assert against_baseline(accepted, then).pairs[0].verdict is Word.SLOWER


def test_disturbed_runs_do_not_decide_against_a_baseline(tmp_path: Path) -> None:
    def slow(run: int) -> Mapping[str, Any]:
        return {"marks": (BUSY,), "seconds": 3.0, "wall_s": 3.0} if run < 5 else {}

    then = compared(tmp_path / "then", {"a": Runs(1.0)}, 14, machine=HERE.to_json())
    now = compared(tmp_path / "now", {"a": Runs(1.0, change=slow)}, 14, machine=HERE.to_json())
    (pair,) = against_baseline(now, then).pairs
    assert pair.low is not None and pair.low > 0.95 and pair.ratio == pytest.approx(1.0, abs=0.02)


def test_the_level_is_that_of_a_look_after_the_runs_of_now() -> None:
    then, now = [1.0 + 0.01 * (n % 5) for n in range(60)], [0.9 + 0.01 * (n % 7) for n in range(12)]
    looks = OpenLooks(ALPHA, 1)
    assert looks.level(12) != looks.level(60)
    assert judge_unpaired(then, now, looks, 0.01, final=True).ratio == unpaired_interval(then, now, looks.level(12))


def test_variables_that_are_as_they_were_are_no_difference(tmp_path: Path) -> None:
    then = _made(tmp_path / "then", environment={"OMP_NUM_THREADS": "2", "LANG": "C"})
    now = _made(tmp_path / "now", environment={"OMP_NUM_THREADS": "4", "LANG": "C"})
    assert differences(now, then) == ["OMP_NUM_THREADS: 2 then, 4 now"]


def test_of_commands_that_have_no_partner_those_that_ran_are_named(tmp_path: Path) -> None:
    runs = {"a": Runs(1.0), "b": Runs(0.5, fields={"error": "exit code 3"})}
    then = compared(tmp_path / "then", runs, 12, machine=HERE.to_json())
    found = against_baseline(_made(tmp_path / "now", names="xy"), then)
    assert found.asked == ("commands: a then, x, y now",)


def test_by_default_the_intervals_of_all_pairs_hold_together(tmp_path: Path) -> None:
    then, now = _made(tmp_path / "then"), _made(tmp_path / "now", 0.8)
    assert against_baseline(now, then).pairs == against_baseline(now, then, looks=OpenLooks(ALPHA, 2)).pairs
    assert against_baseline(now, then).pairs != against_baseline(now, then, looks=OpenLooks(ALPHA, 1)).pairs
