# SPDX-License-Identifier: BSD-3-Clause
"""Runs in containers beside plain ones: what is said of their time, their memory and what was not counted."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodewise.records.columns import Record
from nodewise.records.experiment import Experiment, Writer, read_experiment
from nodewise.report.pages.compare import compare_page
from nodewise.report.text.comparison import comparison_text
from nodewise.runner.isolation import Isolation
from nodewise.runner.objective import Objective, Shown
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.compare import CompareVerdict, compare_verdict
from nodewise.verdicts.isolated import isolation_limits, own_wall
from nodewise.verdicts.stored import Stored, stored
from tests.questions import compare_question
from tests.verdicts.cases import Runs, compared

_PLAIN, _INSIDE = "a (process)", "a (runc)"


def _experiment(path: Path, peaks: tuple[float, float] = (3.8e6, 2.5e6), inside: Any = None, **more: Any) -> Experiment:
    """A plain process, and the same in runc, whose runtime takes 50 ms more; `inside` are fields of the latter's samples."""
    settings = {
        _PLAIN: Setting(("a",), name=_PLAIN),
        _INSIDE: Setting(("a",), name=_INSIDE, isolation=Isolation("runc")),
    }
    with Writer(path, compare_question(*settings, **more)) as writer:
        for block in range(8):
            s = 0.0687 * (1 + block / 1e4)
            usage = {"user_s": 0.0679, "system_s": 0.0}
            around = {"startup_s": 0.04, "teardown_s": 0.01}
            plain = Sample(s, s, float(block), usage={**usage, "peak_bytes": peaks[0]})
            made = {"seconds": s, "wall_s": s + 0.05, "metrics": around, **(inside or {})}
            runc = Sample(started_at=float(block), usage={**usage, "peak_bytes": peaks[1]}, **made)
            for place, (name, sample) in enumerate(((_PLAIN, plain), (_INSIDE, runc))):
                writer.add(Record(name, "compare", block + 1, place, sample, float(block)), settings[name])
    return read_experiment(path)


def _found(experiment: Experiment) -> Stored[CompareVerdict]:
    return stored(experiment, compare_verdict(experiment, "runs"))


def test_what_a_runtime_takes_is_no_waiting_of_the_program(tmp_path: Path) -> None:
    verdict = _found(_experiment(tmp_path / "a")).verdict
    assert not any("waits" in text for text in verdict.warnings), verdict.warnings


def test_a_program_that_waits_inside_is_told_with_its_own_time(tmp_path: Path) -> None:
    verdict = _found(_experiment(tmp_path / "a", inside={"seconds": 0.2, "wall_s": 0.3})).verdict
    assert any(
        text.startswith(f"{_INSIDE}: it takes 200 ms but the processor only 67.9 ms") for text in verdict.warnings
    )


def test_of_a_program_that_reports_its_time_the_rest_is_not_known(tmp_path: Path) -> None:
    verdict = _found(_experiment(tmp_path / "a", inside={"seconds": 0.2, "source": "program"})).verdict
    assert not any("waits" in text for text in verdict.warnings), verdict.warnings


def test_what_lies_around_the_program_is_shown_and_on_no_front(tmp_path: Path) -> None:
    found = _found(_experiment(tmp_path / "a", (5e7, 6e7)))
    text, page = comparison_text(found, 200), compare_page(found)
    head, plain, inside, *_ = text.splitlines()
    assert head.split()[-4:] == ["startup_s", "MAD", "teardown_s", "MAD"]
    assert plain.split()[-4:] == ["–"] * 4 and "40 ms" in inside and "10 ms" in inside
    assert "<th>startup_s</th>" in page and "<th>teardown_s</th>" in page and 'data-value="0.04"' in page
    assert set(found.verdict.pareto) == {"peak_bytes"}


def test_a_table_that_is_wider_than_the_terminal_is_in_parts(tmp_path: Path) -> None:
    found = _found(_experiment(tmp_path / "a", (5e7, 6e7)))

    def tables(width: int) -> list[str]:
        table, rest = comparison_text(found, width).split("answer ", 1)
        assert max(map(len, table.splitlines())) <= width and rest
        return table.strip().split("\n\n")

    first, second = tables(len(tables(200)[0].splitlines()[0]) - 1)
    around = ["startup_s", "MAD", "teardown_s", "MAD"]
    assert first.splitlines()[0].split() == ["command", "median", "MAD", "range", "runs", "speedup"]
    assert second.splitlines()[0].split() == ["command", *around]
    assert [line[:4] for line in first.splitlines()] == [line[:4] for line in second.splitlines()]
    assert "40 ms" in second and "reference" in first
    # the range is the first to stand elsewhere
    first, second, *_ = tables(max(len(line) for line in first.splitlines()) - 1)
    assert first.splitlines()[0].split() == ["command", "median", "MAD", "runs", "speedup"]
    assert second.splitlines()[0].split()[:2] == ["command", "range"]


def test_the_page_says_once_why_counts_are_blank(tmp_path: Path) -> None:
    page = compare_page(_found(_experiment(tmp_path / "a")))
    assert page.count("of isolated runs are left blank") == 1


def test_small_peaks_are_not_compared_across_kinds(tmp_path: Path) -> None:
    said = "is not comparable across kinds of isolation"
    found = _found(_experiment(tmp_path / "a"))
    assert found.verdict.pareto == {} and said in compare_page(found) and said not in comparison_text(found, 80)
    asked = _found(_experiment(tmp_path / "b", shown=asdict(Shown((Objective("peak_bytes"),)))))
    assert asked.verdict.pareto == {} and said in comparison_text(asked, 80)
    # what is large is the program's own
    large = _found(_experiment(tmp_path / "c", (5e7, 6e7)))
    assert said not in compare_page(large)


def test_a_peak_of_just_eight_mebibytes_is_the_programs_own(tmp_path: Path) -> None:
    said = "is not comparable across kinds of isolation"
    for peaks, small in (((8 << 20, 9e7), False), (((8 << 20) - 1, 9e7), True), ((9e7, (8 << 20) - 1), True)):
        found = _found(_experiment(tmp_path / f"{peaks}", peaks))
        assert (said in compare_page(found)) == small


def test_only_good_runs_say_whether_a_program_reports_its_time(tmp_path: Path) -> None:
    experiment = _experiment(tmp_path / "a", inside={"seconds": 0.2, "wall_s": 0.3})
    medians = {"wall_s": 0.3, "seconds": 0.2}
    assert own_wall(experiment, _INSIDE, medians) == 0.2 and own_wall(experiment, _PLAIN, medians) == 0.3
    reports = _experiment(tmp_path / "b", inside={"seconds": 0.2, "source": "program"})
    assert own_wall(reports, _INSIDE, medians) is None
    failed = _experiment(tmp_path / "c", inside={"seconds": 0.2, "source": "program", "error": "exit code 1"})
    assert own_wall(failed, _INSIDE, medians) == 0.2


def test_where_nothing_is_isolated_nothing_is_said_of_it(tmp_path: Path) -> None:
    assert isolation_limits(compared(tmp_path / "x", {"a": Runs(1.0), "b": Runs(1.0)}, 3), {}) == []
