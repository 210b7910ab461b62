# SPDX-License-Identifier: BSD-3-Clause
"""Whether a promise holds, in lines of text."""

from pathlib import Path

import pytest

from nodewise.report.text.confirm import confirm_text
from nodewise.verdicts.confirm import confirm_verdict
from nodewise.verdicts.stored import stored
from tests.verdicts.cases import Runs, compared
from tests.verdicts.test_confirm import PROMISE


@pytest.mark.parametrize(("blocks", "level"), [(3, ""), (12, " (95% interval)")])
def test_an_interval_is_named_where_there_is_one(tmp_path: Path, blocks: int, level: str) -> None:
    runs = {"a": Runs(1.0), "b": Runs(0.6)}
    made = compared(tmp_path / "x", runs, blocks, kind="confirm", promise=PROMISE)
    lines = confirm_text(stored(made, confirm_verdict(made, "runs")), 80).splitlines()
    (now,) = (line for line in lines if line.startswith("now "))
    assert now.endswith(level) and ("95%" in now) == bool(level)
