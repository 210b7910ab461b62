# SPDX-License-Identifier: BSD-3-Clause
"""What was seen of a program, in lines of text."""

import pytest

from nodewise.report.text.where import where_table
from nodewise.runner.agreement import Agreement
from nodewise.runner.observe import Observation


@pytest.mark.parametrize(("samples", "said"), [(0, "0 samples"), (1, "1 sample"), (2, "2 samples")])
def test_sweeps_are_counted(samples: int, said: str) -> None:
    text = where_table(Observation(seconds=0.5, samples=samples), Agreement({}, []))
    assert text == f"Nothing ran long enough to be seen ({said} in 500 ms)."
