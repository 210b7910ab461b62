# SPDX-License-Identifier: BSD-3-Clause
"""At which level axes that are put back are judged."""

import pytest

from nodewise.statistics.sequential import ALPHA
from nodewise.verdicts.ablation import ablation_blocks, first_blocks, level_of


@pytest.mark.parametrize("axes", [1, 2, 5, 40])
def test_all_axes_share_the_error_and_a_second_look_halves_it(axes: int) -> None:
    first = first_blocks(axes)
    assert 1 - level_of(axes, first) == pytest.approx(ALPHA / axes)
    assert 1 - level_of(axes, first + 1) == pytest.approx(ALPHA / axes / 2)
    # all signs equal is rarer than that
    assert 2.0 ** (1 - ablation_blocks(axes)) <= ALPHA / axes
