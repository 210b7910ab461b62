# SPDX-License-Identifier: BSD-3-Clause
"""What a scaling showed, in lines of text."""

from pathlib import Path

import pytest

from nodewise.report.text.scale import scale_text
from nodewise.verdicts.scale import judge_scale
from nodewise.verdicts.stored import stored
from tests.verdicts.cases import scaled


@pytest.mark.parametrize(("slope", "proposed"), [(0.0, True), (9.5, False)])
def test_more_blocks_are_proposed_where_a_speedup_may_be_noise(tmp_path: Path, slope: float, proposed: bool) -> None:
    experiment = scaled(tmp_path / "x", lambda n: 5 + slope / n)
    text = scale_text(stored(experiment, judge_scale(experiment, "runs")), 200)
    assert ("with a larger --blocks the intervals are narrower" in text) == proposed
    assert "--blocks" not in scale_text(stored(experiment, judge_scale(experiment, "budget")), 200)
