# SPDX-License-Identifier: BSD-3-Clause
"""A check in lines of text."""

import pytest

from nodewise.nodes.findings import CheckResult
from nodewise.report.pages.check import check_page
from nodewise.report.text.check import check_text


@pytest.mark.parametrize(
    ("judged", "there", "said"), [(2, 3, "2 of 3 nodes judged"), (3, 3, "3 nodes"), (1, 1, "1 node")]
)
def test_nodes_that_gave_no_answer_are_not_counted_as_judged(judged: int, there: int, said: str) -> None:
    names = tuple(f"n{i}" for i in range(there))
    result = CheckResult(judged, 5, (), (), (), names, ())
    assert check_text(result).splitlines()[0] == f"{said}, 5 rules"
    assert f"nodewise check · {said} · 5 rules" in check_page(result)
