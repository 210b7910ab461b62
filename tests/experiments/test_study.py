# SPDX-License-Identifier: BSD-3-Clause
"""A study's rows, from runs whose times are given."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.experiments import study_plan
from nodewise.experiments.study import StudyQuestion, run_study
from nodewise.experiments.study_plan import plan_study
from nodewise.machine.model import Cache
from nodewise.machine.sources import load_machine
from nodewise.records.budget import Meter
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.studies.commands import Contender, contenders_of, work_of
from nodewise.studies.contract import Limit, Published
from nodewise.studies.discovery import Found, find_study
from nodewise.verdicts.pair import PairVerdict
from nodewise.verdicts.study import StudyRow, StudyVerdict

IS = find_study("is")
WORK = {"items": 655360.0, "bytes": 2703360.0}
TIMES = {"bucketed": 0.4, "counting": 0.2, "narrow": 0.1, "read": 0.05, "numpy_bincount": 0.3}


class Given:
    """A launcher that gives each contender its time; the rate of `limits` is that of another study's work."""

    def __init__(self, failing: str = "") -> None:
        self.settings: dict[str, Setting] = {}
        self.order: list[str] = []
        self._failing = failing
        self.bound = 0

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        words = setting.command
        name = words[words.index("--variant") + 1] if "--variant" in words else "numpy_bincount"
        if "class=W" in words:
            return Sample(2.0, 2.0, 0.0, metrics={"items": WORK["items"] * 100})
        self.settings[name] = setting
        self.order.append(name)
        if name == self._failing:
            return Sample(0.0, 0.1, 0.0, error="wrong result: key 7", output="")
        return Sample(TIMES[name] * (1 + len(self.order) % 3 / 100), 1.0, 0.0, metrics={**WORK, "ulp": 0.5})


def rows_of(result: StudyVerdict) -> dict[str, StudyRow]:
    return {row.contender: row for row in result.rows}


def ratio(pair: PairVerdict | None) -> float:
    assert pair is not None
    return pair.ratio


def test_rows_are_set_against_the_best_peer_the_plain_variant_and_the_limit_that_binds() -> None:
    limit = Limit("is", "counting", per="items", point={"class": "W"})
    found = replace(IS, study=replace(IS.study, limits=(limit,), published=(Published("narrow", "x", "1 s", "there"),)))
    result = run_study(StudyQuestion(found, {"class": "S"}, threads=1, blocks=8), Given())  # type: ignore[arg-type]
    rows = rows_of(result)
    assert result.work == WORK and result.published[0].value == "1 s"
    assert ratio(rows["narrow"].against_peer) == pytest.approx(3, rel=0.05)
    assert ratio(rows["narrow"].against_plain) == pytest.approx(4, rel=0.05)
    # 2 s for a hundred times the work; reading alone takes longer and is what binds
    assert rows["is counting"].seconds == pytest.approx(0.02)
    assert rows["narrow"].share_of_limit == pytest.approx(0.5, rel=0.05)
    assert rows["narrow"].metrics == {"ulp": 0.5}
    assert rows["narrow"].bytes == WORK["bytes"]
    assert [r.kind for r in result.rows] == ["variant"] * 3 + ["peer"] + ["limit"] * 2
    assert all(len(row.times) == 8 and row.seconds == median(t for t in row.times if t) for row in rows.values())


def test_each_block_holds_each_contender_once() -> None:
    given = Given()
    run_study(StudyQuestion(IS, {"class": "S"}, threads=1, blocks=7), given)  # type: ignore[arg-type]
    blocks = [given.order[i : i + 5] for i in range(0, len(given.order), 5)]
    assert len(blocks) == 7
    assert all(sorted(block) == sorted(TIMES) for block in blocks)
    assert len({tuple(block) for block in blocks}) > 1


def test_a_wrong_contender_is_a_row_without_a_time() -> None:
    result = run_study(StudyQuestion(IS, {"class": "S"}, threads=1, blocks=6), Given("narrow"))  # type: ignore[arg-type]
    row = rows_of(result)["narrow"]
    assert row.seconds is None and row.verified is False and "key 7" in str(row.not_run)
    assert row.times == (None,) * 6


def test_a_limit_of_what_the_work_does_not_count_says_so() -> None:
    found = replace(IS, study=replace(IS.study, limits=(Limit("is", "counting", per="flops"),)))
    result = run_study(StudyQuestion(found, {"class": "S"}, threads=1, blocks=6), Given())  # type: ignore[arg-type]
    assert rows_of(result)["is counting"].not_run == "the work counts no flops"


def test_variants_are_bound_thread_by_thread_and_a_peer_to_the_same_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Contender("lib", "peer", ("p",), env={"MINE": "1", "GONE": ""})
    monkeypatch.setattr("nodewise.studies.commands.script_contenders", lambda found, point, among: [peer])
    given = Given()
    run_study(StudyQuestion(IS, {"class": "S"}, threads=1, blocks=1), given)  # type: ignore[arg-type]
    native, setting = given.settings["narrow"], given.settings["numpy_bincount"]
    assert native.mask is not None and len(native.mask) == 1 and "OMP_PLACES" in native.env
    assert setting.mask == native.mask
    assert setting.env["MINE"] == "1" and "GONE" in setting.unset and "OMP_PLACES" not in setting.env
    assert setting.env["OPENBLAS_NUM_THREADS"] == "1"


def test_where_a_peers_threads_cannot_be_bound_nobodys_are() -> None:
    class Free(Given):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting)
            if "NODEWISE_BIND" in setting.env:
                return replace(sample, seconds=9.0, metrics={**sample.metrics, "bound": float(self.bound)})
            return sample

    for bound in (2, 0):
        given = Free()
        given.bound = bound
        result = run_study(StudyQuestion(IS, {"class": "S"}, threads=1, blocks=6), given)  # type: ignore[arg-type]
        peer, native = given.settings["numpy_bincount"], given.settings["narrow"]
        assert ("NODEWISE_BIND" in peer.env) == ("OMP_PLACES" in native.env) == (bound > 0)
        assert peer.mask == native.mask and result.blocks == 6
        # the block in which that turned out counts for nothing
        assert rows_of(result)["numpy_bincount"].seconds == pytest.approx(9.0 if bound else 0.3, rel=0.05)
        said = [c for c in result.conditions if "as those of numpy_bincount cannot be" in c]
        assert len(said) == (not bound) and "bound" not in rows_of(result)["numpy_bincount"].metrics


def test_a_study_may_name_its_processors_threads_and_what_else_is_told() -> None:
    allowed = load_machine().allowed
    study = replace(IS.study, processors=lambda point: {allowed[-1], 4095}, report=lambda r: [f"{r['blocks']} blocks"])
    given = Given()
    found = replace(IS, study=replace(study, picture=("a", "b")))
    result = run_study(StudyQuestion(found, {"class": "S"}, threads=1, blocks=1), given)  # type: ignore[arg-type]
    assert given.settings["narrow"].mask == (allowed[-1],)
    assert result.report_lines == ("1 blocks",) and result.picture == ("a", "b")
    # where those are too few, any are used
    study = replace(IS.study, processors=lambda point: {4095})
    run_study(StudyQuestion(replace(IS, study=study), {"class": "S"}, threads=1, blocks=1), given)  # type: ignore[arg-type]
    assert given.settings["narrow"].mask in [(p,) for p in allowed]


def test_less_work_than_the_study_counts_has_a_nearer_limit_and_more_work_has_not() -> None:
    limit = Limit("is", "counting", per="items", point={"class": "W"})
    found = replace(IS, study=replace(IS.study, limits=(limit,)))

    class Unequal(Given):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting)
            factor = {"narrow": 0.5, "bucketed": 3}.get(self.order[-1] if self.order else "", 1)
            if "class=W" in setting.command:
                # so slow a machine that this binds
                return replace(sample, seconds=6.0)
            return replace(sample, metrics={**sample.metrics, "items": WORK["items"] * factor})

    rows = rows_of(run_study(StudyQuestion(found, {"class": "S"}, threads=1, blocks=6), Unequal()))  # type: ignore[arg-type]
    assert rows["counting"].share_of_limit == pytest.approx(0.3, rel=0.05)
    assert rows["bucketed"].share_of_limit == pytest.approx(0.15, rel=0.05)
    # half of 60 ms is less than reading takes, which then binds
    assert rows["narrow"].share_of_limit == pytest.approx(0.5, rel=0.05)
    assert rows["narrow"].limit != rows["counting"].limit == rows["bucketed"].limit


def test_a_contender_above_its_limit_is_said_to_be_so_and_claims_no_share_of_it() -> None:
    class Cached(Given):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting)
            return replace(sample, seconds=1.0) if self.order[-1] == "read" else sample

    result = run_study(StudyQuestion(IS, {"class": "S"}, threads=1, blocks=6), Cached())  # type: ignore[arg-type]
    assert any("above its limit (read, " in text for text in result.conditions)
    assert "of the limit" not in result.sentence


def test_a_peer_for_scale_is_nobodys_measure() -> None:
    found = replace(IS, study=replace(IS.study, for_scale=("numpy_bincount",)))
    rows = rows_of(run_study(StudyQuestion(found, {"class": "S"}, threads=1, blocks=6), Given()))  # type: ignore[arg-type]
    assert rows["numpy_bincount"].seconds is not None
    assert all(row.against_peer is None for row in rows.values())


def test_what_holds_for_all_runs_is_found_once_before_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = [Contender(name, "peer", (name,), settles=True) for name in ("near", "lost")]
    monkeypatch.setattr("nodewise.studies.commands.script_contenders", lambda found, point, among: peers)
    ran: list[tuple[str, ...]] = []

    class Settling(Given):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            if setting.command[0] not in ("near", "lost"):
                return super().run(setting)
            ran.append(setting.command)
            if "--settle" not in setting.command:
                return Sample(0.3, 1.0, 0.0, metrics=WORK)
            error = "exit code 1" if setting.command[0] == "lost" else None
            return Sample(9.0, 9.0, 0.0, metrics={"quality": 23.5}, error=error, output="no such setting")

    shown: list[int] = []
    question = StudyQuestion(IS, {"class": "S"}, threads=1, blocks=2)
    rows = rows_of(run_study(question, Settling(), lambda progress: shown.append(progress.block)))  # type: ignore[arg-type]
    settled = ("near", "--settled", "quality=23.5")
    assert ran == [("near", "--settle"), ("lost", "--settle"), settled, settled]
    assert rows["near"].seconds == 0.3 and rows["near"].metrics == {}
    assert rows["lost"].seconds is None and rows["lost"].not_run == "exit code 1: no such setting"
    assert shown == sorted(shown) and set(shown) == {0, 1, 2}


def test_what_tells_that_it_is_for_scale_is_shown_and_not_compared() -> None:
    class Unlike(Given):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting)
            unlike = {"narrow", "numpy_bincount"} & {self.order[-1]}
            return replace(sample, metrics={**sample.metrics, "for_scale": float(bool(unlike))})

    rows = rows_of(run_study(StudyQuestion(IS, {"class": "S"}, threads=1, blocks=6), Unlike()))  # type: ignore[arg-type]
    assert {name for name, row in rows.items() if row.for_scale} == {"narrow", "numpy_bincount"}
    assert rows["narrow"].seconds is not None and rows["narrow"].against_plain is None
    assert rows["counting"].against_plain is not None and rows["counting"].against_peer is None
    assert rows["narrow"].metrics == {"ulp": 0.5}


def test_only_some_contenders_run_where_they_are_named() -> None:
    result = run_study(StudyQuestion(IS, {"class": "S"}, 1, blocks=2, only=("narrow", "read")), Given())  # type: ignore[arg-type]
    assert [r.contender for r in result.rows] == ["narrow", "read"]
    with pytest.raises(InputError, match="no contender 'wide'"):
        run_study(StudyQuestion(IS, {"class": "S"}, 1, only=("wide",)), Given())  # type: ignore[arg-type]


def test_what_a_study_tells_of_its_result_goes_with_it() -> None:
    found = replace(IS, study=replace(IS.study, report=lambda result: [f"{len(result['rows'])} rows"]))
    result = run_study(StudyQuestion(found, {"class": "S"}, threads=1, blocks=6), Given())  # type: ignore[arg-type]
    assert result.report_lines == ("5 rows",)
    assert run_study(StudyQuestion(IS, {"class": "S"}, threads=1, blocks=1), Given()).report_lines == ()  # type: ignore[arg-type]


def test_advice_is_given_from_six_blocks_on() -> None:
    found = replace(IS, study=replace(IS.study, report=lambda r: ["seen"], advise=lambda r: ["take narrow"]))
    few = run_study(StudyQuestion(found, {"class": "S"}, threads=1, blocks=5), Given())  # type: ignore[arg-type]
    assert few.report_lines == ("seen", "no advice: it takes 6 blocks, of 5") and few.best is None
    six = run_study(StudyQuestion(found, {"class": "S"}, threads=1, blocks=6), Given())  # type: ignore[arg-type]
    assert six.report_lines == ("seen", "take narrow") and six.best == "narrow"


class Bandwidths:
    """A launcher in which each contender takes as long as its arrays are large, and memory moves 10 GB a second."""

    def __init__(self) -> None:
        self.commands: dict[str, list[str]] = {}

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        self.commands.setdefault(setting.key, list(setting.command))
        self.commands[f"{setting.key} runs"] = [*self.commands.get(f"{setting.key} runs", []), "1"]
        return Sample(0.1, 0.1, 0.0, metrics={"items": 1e9, "bytes": 1e9})


def test_memorys_rate_is_measured_once_and_kept_with_its_date_until_the_machine_changes() -> None:
    limit = Limit("bandwidth", "read", per="bytes")
    # more than twice the caches
    huge = replace(IS, study=replace(IS.study, limits=(limit,)))
    machine = replace(load_machine(), caches=(Cache(3, "unified", 1 << 20, 64, (0,)),))
    question = StudyQuestion(huge, {"class": "W"}, threads=1, blocks=6, only=("narrow",), machine=machine)

    def measured(**more: Any) -> tuple[StudyRow, Bandwidths]:
        launcher = Bandwidths()
        result = run_study(replace(question, **more), launcher)  # type: ignore[arg-type]
        return rows_of(result)["bandwidth read"], launcher

    first, launcher = measured()
    assert len(launcher.commands["bandwidth read runs"]) == 6 and first.how == "" and first.seconds
    second, launcher = measured()
    assert "bandwidth read" not in launcher.commands and second.seconds == pytest.approx(first.seconds)
    assert re.fullmatch(r"measured \d{4}-\d\d-\d\d \d\d:\d\d UTC, 6 runs, and kept", second.how)
    # other memory, other clocks: what was measured holds no longer
    slower = replace(machine, processor=replace(machine.processor, governor="powersave"))
    third, launcher = measured(machine=slower)
    assert "bandwidth read" in launcher.commands and third.how == ""


@pytest.mark.parametrize(("kind", "kept"), [("variant", True), ("peer", False)])
def test_bandwidths_own_variants_are_limits_for_the_next_study_and_its_peers_are_none(
    monkeypatch: pytest.MonkeyPatch, kind: str, kept: bool
) -> None:
    made: list[str] = []
    monkeypatch.setattr(study_plan, "measures_memory", lambda *_: True)
    monkeypatch.setattr(study_plan, "_keep", lambda one, study, per, name, *_: made.append(f"{study} {per} {name}"))
    monkeypatch.setattr(study_plan, "beyond_limits", lambda _: ())
    contender = replace(contenders_of(IS, {"class": "S"})[0], name="read", kind=kind)
    one = SimpleNamespace(contender=contender, machine_limit=None, kept=None)
    study_plan.keep_what_was_measured(IS, {}, load_machine(), 1, [one], None)  # type: ignore[list-item]
    assert made == (["bandwidth bytes bandwidth read"] if kept else [])


def test_where_a_budget_has_no_room_for_memorys_rate_the_row_says_what_has(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = Limit("bandwidth", "read", per="bytes")
    huge = replace(IS, study=replace(IS.study, limits=(limit,)))
    cache = Cache(3, "unified", 1 << 20, 64, (0,))
    machine = replace(load_machine(), caches=(cache,))
    monkeypatch.setattr("nodewise.experiments.study.Meter", lambda budget: Meter(budget, lambda: 0.0))
    question = StudyQuestion(huge, {"class": "W"}, 1, blocks=6, seconds=1, firm=True, only=("narrow",), machine=machine)
    row = rows_of(run_study(question, Bandwidths()))["bandwidth read"]  # type: ignore[arg-type]
    assert row.seconds is None and row.not_run is not None
    assert re.search(r"takes about \S+ m?s: --budget \S+ does it, once", row.not_run)


def test_data_in_a_cache_are_bound_by_the_cache_at_their_own_working_set() -> None:
    limit = Limit("bandwidth", "read", per="bytes")
    small = replace(IS, study=replace(IS.study, limits=(limit,)))
    launcher = Bandwidths()
    machine = replace(load_machine(), caches=(Cache(3, "unified", 1 << 30, 64, (0,)),))
    question = StudyQuestion(small, {"class": "S"}, threads=1, blocks=6, machine=machine, only=("narrow",))
    row = rows_of(run_study(question, launcher))["bandwidth read"]  # type: ignore[arg-type]
    command = launcher.commands["bandwidth read"]
    kib = next(int(w.partition("=")[2]) for w in command if w.startswith("kib="))
    # two arrays are read: the keys of class S and their counts
    assert 2 * kib * 1024 == pytest.approx(work_of(IS, {"class": "S"})["working_set"], rel=0.1)
    assert row.how == f"in the caches, {2 * kib} KiB at work as in the study"


def test_the_size_of_bandwidths_arrays_keeps_to_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    # what is made up takes no time, also on a busy machine
    monkeypatch.setattr("nodewise.experiments.study.Meter", lambda budget: Meter(budget, lambda: 0.0))
    machine = replace(load_machine(), caches=(Cache(3, "unified", 260 << 20, 64, (0,)),), memory_bytes=1 << 36)
    launcher = Bandwidths()
    asked = StudyQuestion(find_study("bandwidth"), {}, 1, blocks=6, seconds=15, firm=True, machine=machine)
    lines = run_study(asked, launcher).report_lines  # type: ignore[arg-type]
    kib = next(int(w.partition("=")[2]) for w in launcher.commands["triad"] if w.startswith("kib="))
    assert 1024 <= kib < (260 << 10)
    assert "these are rates of caches, not of memory, which --budget" in lines[0]
    # with time enough they are what they are by default
    assert plan_study(asked.found, {}, machine, 1, 10, 3600.0, firm=True).point == {}


def test_a_budget_too_small_for_six_blocks_is_said_as_soon_as_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("nodewise.experiments.study.Meter", lambda budget: Meter(budget, lambda: now[0]))

    class Slow(Given):
        each_s = 20.0

        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            now[0] += self.each_s
            return super().run(setting)

    given = Slow()
    question = StudyQuestion(IS, {"class": "S"}, threads=1, seconds=200.0, firm=True, out=tmp_path / "x")
    with pytest.raises(InputError, match=r"3 of 5 contenders took 60 s, and 6 runs of each are needed") as told:
        run_study(question, given)  # type: ignore[arg-type]
    # as soon as those that ran take too long by themselves
    assert len(given.order) == 3 and not (tmp_path / "x").exists()
    assert told.value.hint is not None and "--budget 10min" in told.value.hint
    now[0] = 0.0
    with pytest.raises(InputError, match=r"the 5 contenders takes 100 s, and 6 runs of each are needed"):
        run_study(replace(question, seconds=400.0), Slow())  # type: ignore[arg-type]
    # it may end before that
    now[0] = 0.0
    with pytest.raises(InputError, match="it ended after 1 of 5 contenders"):
        run_study(replace(question, seconds=10.0), Slow())  # type: ignore[arg-type]
    # or before the first, by what asking the contenders took
    given = Slow()

    def slowly(found: Found, point: Mapping[str, str], only: Sequence[str]) -> list[Contender]:
        now[0] += 12.0
        return contenders_of(found, point, only)

    monkeypatch.setattr("nodewise.experiments.study.contenders_of", slowly)
    with pytest.raises(InputError, match="finding out which contenders run here took 12 s of it") as told:
        run_study(replace(question, seconds=10.0), given)  # type: ignore[arg-type]
    assert given.order == [] and told.value.hint is not None and "more than --budget" in told.value.hint
    monkeypatch.undo()
    monkeypatch.setattr("nodewise.experiments.study.Meter", lambda budget: Meter(budget, lambda: now[0]))
    # where nobody asked for a budget there are six blocks, and few are enough where so many are asked for
    now[0] = 0.0
    notes: list[str] = []
    usual = replace(question, firm=False, blocks=6, accept_disturbed=True)
    assert run_study(usual, Slow(), note=notes.append).blocks == 6  # type: ignore[arg-type]
    assert "6 blocks of 5 contenders take about 10 min" in notes[0]
    # one that is asked for in full makes all blocks whatever they take, and says so, though they may be short
    for each_s in (3600.0, 0.0):
        now[0] = 0.0
        notes.clear()
        Slow.each_s = each_s
        full = replace(
            question, firm=False, full=True, blocks=9, accept_disturbed=True, out=tmp_path / f"full-{each_s:g}"
        )
        assert run_study(full, Slow(), note=notes.append).blocks == 9  # type: ignore[arg-type]
        assert notes[0].startswith("9 blocks of 5 contenders take about")
    Slow.each_s = 20.0
    now[0] = 0.0
    few = replace(question, blocks=1, accept_disturbed=True, out=tmp_path / "y")
    assert run_study(few, Slow()).blocks == 1  # type: ignore[arg-type]


def test_a_contender_that_the_budgets_end_cuts_off_has_not_failed() -> None:
    class Hanging(Given):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            sample = super().run(setting)
            if len(self.order) < 34:
                return sample
            assert timeout_s is not None
            return Sample(timeout_s, timeout_s, 0.0, error="cut off", cut_off=True)

    result = run_study(StudyQuestion(IS, {"class": "S"}, 1, seconds=300, firm=True, accept_disturbed=True), Hanging())  # type: ignore[arg-type]
    assert (result.stopped, result.blocks) == ("budget", 6)
    assert all(not row.not_run for row in result.rows)


@pytest.mark.parametrize("after", [0, 2])
def test_of_a_block_that_is_not_whole_the_runs_are_kept(tmp_path: Path, after: int) -> None:
    class Interrupted(Given):
        def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
            if len(self.order) == after:
                raise KeyboardInterrupt
            return super().run(setting, timeout_s=timeout_s)

    question = StudyQuestion(IS, {"class": "S"}, threads=1, blocks=6, out=tmp_path / "x")
    with pytest.raises(KeyboardInterrupt):
        run_study(question, Interrupted())  # type: ignore[arg-type]
    assert (tmp_path / "x").exists() == (after > 0)
    if after:
        assert (tmp_path / "x/samples.jsonl").read_text().count('"type": "sample"') == after
        result = run_study(replace(question, resume=True), Given())  # type: ignore[arg-type]
        assert all(len(row.times) >= 6 for row in result.rows)


def test_a_quick_study_makes_as_many_blocks_as_all_its_ratios_need() -> None:
    asked = StudyQuestion(IS, {"class": "S"}, threads=1, quick=True)
    result = run_study(asked, Given())  # type: ignore[arg-type]
    made = len(rows_of(result)["narrow"].times)
    # four contenders against one peer and one plain variant: 2 / 2^n is to be at most 5% / 8, with a quarter to spare
    assert made == 12
    assert all(pair.low is not None for row in result.rows for pair in (row.against_peer, row.against_plain) if pair)
    # no more than were asked for, and fewer than a study that may take its time
    assert len(rows_of(run_study(replace(asked, blocks=7), Given()))["narrow"].times) == 7  # type: ignore[arg-type]
    assert len(rows_of(run_study(replace(asked, quick=False), Given()))["narrow"].times) > made  # type: ignore[arg-type]
