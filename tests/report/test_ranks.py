# SPDX-License-Identifier: BSD-3-Clause
"""The table of ranks: as in the published hybrid run, rank, size, host, threads and seconds."""

from __future__ import annotations

from dataclasses import replace

from nodewise.records.columns import Record
from nodewise.report.text.ranks import rank_lines
from nodewise.runner.ranks import RankPart
from nodewise.runner.sample import Sample
from nodewise.verdicts.ranks import rank_table


def _record(block: int, seconds: list[float], error: str | None = None, memory: str = "") -> Record:
    ranks = tuple(
        RankPart(i, f"node{i // 2}", s, s + 1, s * 68, 1 << 30, 68, tuple(range(68 * i, 68 * i + 68)), memory)
        for i, s in enumerate(seconds)
    )
    sample = Sample(max(seconds), max(seconds), 0.0, error=error, ranks=ranks)
    return Record("threads=68", "search", block, 0, sample)


def test_each_rank_is_a_row_of_medians() -> None:
    records = [_record(i, [15.0 + i, 15.5 + i, 16.0 + i, 15.5 + i]) for i in range(3)]
    records.append(replace(_record(4, [1.0, 1.0, 1.0, 1.0]), phase="warm-up"))
    records.append(_record(3, [1.0, 1.0, 1.0, 1.0], error="exit code 1"))
    table = rank_table(records, "threads=68")
    assert table is not None and table.runs == 3
    assert [(r.rank, r.size, r.host, r.threads, r.seconds) for r in table.rows] == [
        (0, 4, "node0", 68, 16.0),
        (1, 4, "node0", 68, 16.5),
        (2, 4, "node1", 68, 17.0),
        (3, 4, "node1", 68, 16.5),
    ]
    # slowest over mean, less one, of the middle run
    assert table.imbalance is not None and abs(table.imbalance - (17.0 / 16.5 - 1)) < 1e-9
    lines = rank_lines(table)
    assert lines[0].split() == ["rank", "size", "host", "threads", "seconds", "processor", "time", "memory", "allowed"]
    assert lines[1].split()[:4] == ["0", "4", "node0", "68"] and lines[1].endswith("0-67")
    assert lines[-1].startswith("imbalance 3%")


def test_the_policy_of_pages_is_a_column_where_a_rank_has_one() -> None:
    table = rank_table([_record(0, [1.0, 2.0], memory="preferred:1")], "threads=68", 34)
    assert table is not None and {r.threads for r in table.rows} == {34}
    lines = rank_lines(table)
    assert lines[0].endswith("pages") and lines[1].endswith("preferred:1")


def test_a_setting_without_ranks_has_no_table() -> None:
    record = Record("x", "search", 0, 0, Sample(1.0, 1.0, 0.0))
    assert rank_table([record], "x") is None
    assert rank_table([_record(0, [1.0])], "x") is None


def test_of_many_ranks_the_slowest_are_shown() -> None:
    table = rank_table([_record(0, [1.0 + i for i in range(100)])], "threads=68")
    assert table is not None
    lines = rank_lines(table)
    assert len(lines) == 1 + 32 + 2 and lines[1].startswith("68 ") and "the slowest 32 of 100 ranks" in lines
