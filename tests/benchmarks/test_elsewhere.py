# SPDX-License-Identifier: BSD-3-Clause
"""Load on processors that a program does not need, on a machine of 128 that is computed: differences are told beside it."""

import random

import pytest

from benchmarks._busy.elsewhere import CASES, PROCESSORS, Elsewhere, computed
from benchmarks._busy.series import replay
from nodewise.machine.sources import load_machine

MACHINE = f"synthetic:core:{PROCESSORS // 2} pu:2"


@pytest.mark.some(3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_difference_of_30_percent_is_told_beside_load_elsewhere(case: Elsewhere) -> None:
    made, dice, machine = computed(case, 1.3, 5), random.Random(str(case)), load_machine(MACHINE)
    said = [replay(made, ("base", "other"), machine, dice).contenders[1].against_reference for _ in range(2)]
    assert [one is not None and one.verdict for one in said] == ["slower"] * 2


def test_where_no_processor_is_left_the_machine_was_busy() -> None:
    made, dice = computed(Elsewhere(8, 0.5, PROCESSORS), 1.3, 5), random.Random(1)
    said = replay(made, ("base", "other"), load_machine(MACHINE), dice).contenders[1].against_reference
    assert said is not None and said.verdict == "undecided" and said.busy
