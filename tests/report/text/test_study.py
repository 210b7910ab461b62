# SPDX-License-Identifier: BSD-3-Clause
"""A study's rows in a terminal."""

from dataclasses import replace
from pathlib import Path

from nodewise.report.text.study import study_text
from nodewise.verdicts.stored import read_stored
from tests.report.stored import study_page_of, study_result


def test_contenders_that_run_alike_are_named_in_one_line(tmp_path: Path) -> None:
    result = study_result()
    ran = [row for row in result.rows if row.seconds is not None]
    how = {ran[0].contender: "libx 2", ran[1].contender: "libx 2", ran[2].contender: "libx 3"}
    told = replace(result, rows=tuple(replace(row, how=how.get(row.contender, "")) for row in result.rows))
    study_page_of(told, "", tmp_path)
    lines = [line for line in study_text(read_stored(tmp_path), 80).splitlines() if "libx" in line]
    assert lines == [f"{ran[0].contender}, {ran[1].contender}: libx 2", f"{ran[2].contender}: libx 3"]
