# SPDX-License-Identifier: BSD-3-Clause
"""The rows of ranks: medians over the good runs, the place that most runs had, and how unevenly the work was dealt."""

from pathlib import Path

from nodewise.records.columns import WARM_UP, Record
from nodewise.runner.ranks import RankPart
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from nodewise.verdicts.ranks import RankRow, rank_table, ranks_of
from tests.verdicts.cases import Runs, tuned


def _part(rank: int, seconds: float, host: str = "n0", threads: int = 2, allowed: tuple[int, ...] = (0, 1)) -> RankPart:
    return RankPart(rank, host, seconds, seconds + 0.1, 2 * seconds, int(1e6 * seconds), threads, allowed, "bind:0")


def _run(*parts: RankPart, key: str = "s", phase: str = "compare", error: str | None = None) -> Record:
    return Record(key, phase, 1, 0, Sample(1.0, 1.0, 0.0, error=error, ranks=parts))


RUNS = [
    _run(_part(0, 9.0), _part(1, 9.0), phase=WARM_UP),
    _run(_part(0, 1.0), _part(1, 2.0)),
    _run(_part(0, 2.0, host="n7", threads=1), _part(1, 4.0, allowed=(2, 3))),
    _run(_part(0, 6.0), _part(1, 6.0, allowed=(2, 3))),
    _run(_part(0, 50.0), _part(1, 50.0), error="exit code 1"),
    _run(_part(0, 70.0), key="other"),
]


def test_rows_are_medians_of_the_good_runs_of_the_setting() -> None:
    table = rank_table(RUNS, "s")
    assert table is not None and table.runs == 3
    assert table.rows == (
        RankRow(0, 2, "n0", 2, 2.0, 4.0, 2e6, (0, 1), "bind:0"),
        RankRow(1, 2, "n0", 2, 4.0, 8.0, 4e6, (2, 3), "bind:0"),
    )
    # slowest over mean less one: a third, a third and nothing
    assert table.imbalance is not None and abs(table.imbalance - 1 / 3) < 1e-12


def test_threads_that_were_asked_for_are_those() -> None:
    table = rank_table(RUNS, "s", threads=8)
    assert table is not None and {row.threads for row in table.rows} == {8}


def test_one_rank_is_not_uneven_and_without_a_good_run_there_is_no_table() -> None:
    alone = rank_table(RUNS, "other")
    assert alone is not None and (alone.runs, alone.imbalance, len(alone.rows)) == (1, None, 1)
    assert rank_table(RUNS[-2:-1], "s") is None and rank_table(RUNS[:1], "s") is None and rank_table(RUNS, "no") is None


def test_the_ranks_of_a_setting_are_those_that_its_launcher_started(tmp_path: Path) -> None:
    ranks = (_part(0, 1.0, threads=2), _part(1, 2.0, threads=2))
    started = Setting(("mpirun", "app"), {"threads": 3}, name="ranks", ranks=2, program_at=1)
    plain = Setting(("app",), name="plain")
    made = tuned(tmp_path / "x", [(started, Runs(1.0, fields={"ranks": ranks}), [1, 2]), (plain, Runs(1.0), [1, 2])])
    table = ranks_of(made, started.key)
    assert table is not None and table.runs == 2 and [row.threads for row in table.rows] == [3, 3]
    assert ranks_of(made, plain.key) is None and ranks_of(made, "no such setting") is None


def test_there_are_as_many_ranks_as_the_largest_run_had() -> None:
    table = rank_table([_run(_part(0, 1.0), _part(1, 1.0)), _run(_part(0, 1.0), _part(1, 1.0), _part(2, 1.0))], "s")
    assert table is not None and [row.size for row in table.rows] == [3, 3, 3]
