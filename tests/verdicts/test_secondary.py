# SPDX-License-Identifier: BSD-3-Clause
"""Secondary metrics: those besides the number that decides."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nodewise.experiments.compare import CompareQuestion, compare
from nodewise.experiments.contenders import make_contenders
from nodewise.experiments.tune import tune
from nodewise.experiments.tune_question import Question
from nodewise.records.budget import Budget
from nodewise.records.columns import Record
from nodewise.records.experiment import Experiment, Writer, read_experiment
from nodewise.report.tables import labels_of
from nodewise.report.text.comparison import comparison_text, shown_lines
from nodewise.runner.isolation import Isolation
from nodewise.runner.objective import SECONDS, Objective, Shown
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.compare import CompareVerdict
from nodewise.verdicts.secondary import _MEMORY_DIFFERS, MetricSummary, SecondaryMetrics, _differ, metric_notes
from nodewise.verdicts.secondary import _noise as secondary_noise
from nodewise.verdicts.stored import stored
from tests.questions import compare_question
from tests.surfaces import Scripted, machine, many_core, threads_of

#: Seconds, joules and bytes of commands: b is fast, d frugal, c between, a beaten by all but in memory, which hardly differs.
TABLE = {"a": (4.0, 90.0, 1.00e8), "b": (1.0, 80.0, 1.04e8), "c": (2.0, 40.0, 1.02e8), "d": (3.0, 30.0, 1.01e8)}


class Listed:
    """Runs of commands by a table."""

    def __init__(self, table: Mapping[str, tuple[float, float, float]]):
        self._table = table
        self.runs = 0

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        """A sample with a little noise that is always the same."""
        self.runs += 1
        seconds, joules, peak = self._table[setting.name]
        noise = 1 + 0.001 * (self.runs * 7 % 11 - 5)
        wall = seconds * noise
        energy = {"energy_j": joules * noise, "energy_package_j": joules * noise, "load_average": 0.0}
        usage = {"user_s": wall, "system_s": 0.0, "peak_bytes": peak}
        return Sample(wall, wall, float(self.runs), usage=usage, conditions=energy, metrics={"score": 1 / joules})

    def close(self) -> None:
        """Nothing is kept running."""


def _compared(path: Path, table: Mapping[str, tuple[float, float, float]] = TABLE, **more: Any) -> CompareVerdict:
    contenders = tuple(make_contenders(["x"] * len(table), {}, names=list(table)))
    question = CompareQuestion(contenders, machine(2, 1), path / "x", fewest=14, most=14, environment={}, **more)
    return compare(question, Listed(table))


def test_the_front_holds_what_no_other_beats_the_fastest_first(tmp_path: Path) -> None:
    verdict = _compared(tmp_path)
    assert verdict.pareto == {"energy_j": ("b", "c", "d")}
    told = verdict.contenders[2].metrics["energy_j"]
    assert told.low <= told.median <= told.high and told.median == pytest.approx(40, rel=0.01)
    assert 0 < told.mad < 1


def test_memory_that_hardly_differs_is_no_choice_unless_asked_for(tmp_path: Path) -> None:
    shown = Shown((Objective("peak_bytes"),))
    assert _compared(tmp_path, shown=shown).pareto["peak_bytes"] == ("b", "c", "d", "a")
    table = {**TABLE, "a": (4.0, 90.0, 0.9e8)}
    assert "peak_bytes" in _compared(tmp_path / "y", table).pareto


def test_of_some_metrics_more_is_better(tmp_path: Path) -> None:
    best = _compared(tmp_path, shown=Shown((Objective("score", True),)))
    assert best.pareto["score"] == ("b", "c", "d")
    worst = _compared(tmp_path / "y", shown=Shown((Objective("score"),)))
    assert worst.pareto["score"] == ("b", "a")


def test_where_energy_decides_it_is_held_against_time(tmp_path: Path) -> None:
    verdict = _compared(tmp_path, objective=Objective("energy_j"))
    assert verdict.pareto == {"seconds": ("d", "c", "b")}
    assert verdict.fastest == ("d",)
    assert any("energy is that of the whole machine's sockets" in w for w in verdict.warnings)


def test_what_is_shown_stands_in_the_table_and_what_is_not_does_not(tmp_path: Path) -> None:
    shown = Shown((Objective("energy_j"), Objective("score", True)))
    verdict = _compared(tmp_path, shown=shown)
    experiment = read_experiment(tmp_path / "x")
    assert experiment.shown == shown
    lines = comparison_text(stored(experiment, verdict), 200).splitlines()
    assert lines[0].split()[-4:] == ["energy_j", "MAD", "score", "MAD"]
    assert " J" in lines[2]
    plain = _compared(tmp_path / "y")
    assert "energy_j" not in comparison_text(stored(read_experiment(tmp_path / "y" / "x"), plain), 80).splitlines()[0]
    assert not any("energy" in w for w in plain.warnings)


@dataclasses.dataclass(frozen=True)
class Row:
    """A setting as its front sees it."""

    key: str
    median: float
    mad: float
    runs: int
    failed: int
    metrics: dict[str, MetricSummary]


def _row(key: str, median: float, energy: float, runs: int = 5, failed: int = 0) -> Row:
    metrics = {"energy_j": MetricSummary(energy, 0.01 * energy, energy, energy)}
    return Row(key, median, 0.01 * median, runs, failed, metrics)


def test_a_lone_lucky_run_drives_no_measured_setting_off_the_front() -> None:
    experiment = Experiment(Path(), {"shown": {"metrics": [{"metric": "energy_j", "maximise": False}]}})
    secondary = SecondaryMetrics(experiment)
    rows = [_row("often", 1.0, 100.0), _row("slow", 2.0, 50.0), _row("lucky", 0.99, 99.0, runs=1)]
    assert secondary.pareto_fronts(rows)["energy_j"] == ("often", "slow")
    # far better than any luck
    assert secondary.pareto_fronts([*rows, _row("frugal", 3.0, 10.0, runs=1)])["energy_j"] == (
        "often",
        "slow",
        "frugal",
    )
    assert secondary.pareto_fronts([*rows, _row("broken", 0.1, 1.0, failed=1)])["energy_j"] == ("often", "slow")


class Frugal(Scripted):
    """Each thread takes power and memory."""

    def run(self, setting: Setting, *, timeout_s: float | None = None) -> Sample:
        sample = super().run(setting, timeout_s=timeout_s)
        threads = threads_of(setting, 244)
        conditions = {"energy_j": sample.wall_s * (50 + threads), "energy_psys_j": sample.wall_s * (50 + threads)}
        usage = {"peak_bytes": 1e6 * threads}
        return dataclasses.replace(sample, conditions=conditions, usage=usage)


def test_a_tune_tells_the_front_in_json_and_lines(tmp_path: Path) -> None:
    shown = Shown((Objective("energy_j"),), "EUR")
    question = Question(
        ("./app",), machine(61, 4), ("threads", "placement"), tmp_path, Budget(None, 200), environment={}, shown=shown
    )
    verdict = tune(question, Frugal(many_core))
    experiment = read_experiment(tmp_path)
    keys = set(experiment.settings)
    assert set(verdict.pareto) == {"energy_j", "peak_bytes"}
    assert all(front and set(front) <= keys for front in verdict.pareto.values())
    assert len(verdict.pareto["peak_bytes"]) > 2
    lines = shown_lines(verdict, labels_of(experiment))
    assert lines[0].startswith("shown     energy_j: baseline ")
    assert " J), best " in lines[0]
    assert any("psys" in n for n in verdict.notes)


def test_short_runs_have_a_coarse_energy(tmp_path: Path) -> None:
    table = {k: (0.001 * s, j, b) for k, (s, j, b) in TABLE.items()}
    verdict = _compared(tmp_path, table, shown=Shown((Objective("energy_j"),)))
    assert any("coarse" in w for w in verdict.warnings)


def test_an_experiment_without_what_is_shown_is_read_as_one_of_time(tmp_path: Path) -> None:
    _compared(tmp_path)
    experiment = read_experiment(tmp_path / "x")
    experiment.question.pop("shown")
    assert experiment.shown == Shown() and experiment.objective == SECONDS


def test_the_usual_metrics_are_those_that_were_recorded(tmp_path: Path) -> None:
    _compared(tmp_path)
    experiment = read_experiment(tmp_path / "x")
    # nobody was asked for a price, nothing was isolated, and what decides is no secondary metric
    assert [o.metric for o in SecondaryMetrics(experiment).metrics] == ["energy_j", "peak_bytes"]


def test_what_isolation_costs_is_a_metric_where_there_is_isolation_and_only_there(tmp_path: Path) -> None:
    def metrics(isolation: Isolation | None) -> list[str]:
        setting = Setting(("a",), name="a", isolation=isolation)
        with Writer(tmp_path / str(isolation is None), compare_question("a")) as writer:
            for block in range(7):
                around = {"startup_s": 0.04, "teardown_s": 0.01}
                writer.add(Record("a", "compare", block + 1, 0, Sample(1.0, 1.1, 0.0, metrics=around)), setting)
        return [o.metric for o in SecondaryMetrics(read_experiment(tmp_path / str(isolation is None))).metrics]

    assert metrics(Isolation("runc")) == ["startup_s", "teardown_s"] and metrics(None) == []


def test_how_much_runs_vary_is_known_from_those_that_ran_more_than_once() -> None:
    experiment = Experiment(Path(), {"shown": {"metrics": [{"metric": "energy_j", "maximise": False}]}})
    # the noise of the others, 1%, makes up the little by which a lone run was better
    rows = [_row("often", 1.0, 100.0), _row("slow", 2.0, 50.0)]
    close, far = _row("close", 0.985, 98.5, runs=1), _row("far", 0.9, 90.0, runs=1)
    secondary = SecondaryMetrics(experiment)
    assert "close" not in secondary.pareto_fronts([*rows, close])["energy_j"]
    assert secondary.pareto_fronts([*rows, far])["energy_j"] == ("far", "slow")
    # where none ran twice nothing is known of it, and nothing is added
    lone = [_row("one", 1.0, 100.0, runs=1), _row("other", 2.0, 50.0, runs=1), _row("beaten", 2.1, 101.0, runs=1)]
    assert secondary.pareto_fronts(lone)["energy_j"] == ("one", "other")
    assert secondary_noise([]) == 0 < secondary_noise([(1.0, 0.01)])


def test_numbers_that_were_read_and_decide_nothing_are_named() -> None:
    def noted(metrics: list[str], **question: Any) -> list[str]:
        experiment = Experiment(Path(), {"how": {"metrics": dict.fromkeys(metrics, "x")}, **question})
        return [note.split(" is read")[0] for note in metric_notes(experiment)]

    assert noted(["rate", "seconds", "items", "other"]) == ["rate", "other"]
    assert noted(["rate"], objective={"metric": "rate", "maximise": True}) == []
    assert noted(["rate"], objective={"metric": "rate/s", "maximise": True}) == []
    assert noted(["rate"], shown={"metrics": [{"metric": "rate", "maximise": False}]}) == []
    assert metric_notes(Experiment(Path(), {})) == []


@pytest.mark.parametrize(("scale", "coarse"), [(0.015, True), (0.025, False)])
def test_energy_is_coarse_of_runs_below_twenty_milliseconds(tmp_path: Path, scale: float, coarse: bool) -> None:
    table = {k: (scale, j, b) for k, (_, j, b) in TABLE.items()}
    verdict = _compared(tmp_path, table, shown=Shown((Objective("energy_j"),)))
    assert any("coarse" in w for w in verdict.warnings) is coarse


def test_the_noise_of_a_lone_run_is_that_of_those_that_ran_again() -> None:
    secondary = SecondaryMetrics(
        Experiment(Path(), {"shown": {"metrics": [{"metric": "energy_j", "maximise": False}]}})
    )
    alone = [dataclasses.replace(_row(f"lone {n}", 3.0 + n, 300.0, runs=1), mad=0.0) for n in range(4)]
    rows = [_row("often", 1.0, 100.0), _row("lucky", 0.99, 99.0, runs=1)]
    assert secondary.pareto_fronts([*rows, *alone])["energy_j"] == ("often",)


def test_values_differ_from_a_quarter_more_on() -> None:
    assert not _differ([100.0, 100.0 * _MEMORY_DIFFERS]) and _differ([100.0, 100.0 * _MEMORY_DIFFERS + 1, 101.0])
    assert not _differ([]) and not _differ([5.0])
