# SPDX-License-Identifier: BSD-3-Clause
"""How many runs a sweep takes."""

import pytest

from nodewise.base.errors import InputError
from nodewise.experiments.sweep import sweep_settings
from nodewise.search.grid import grid
from nodewise.search.space import Axis, Space
from nodewise.statistics.sequential import FEWEST_BLOCKS


def test_a_sweep_begins_only_where_its_verdict_is_affordable() -> None:
    space = Space((Axis("n", (1, 2, 3, 4, 5), (1, 2, 3, 4, 5), 1),), lambda p: (p["n"],))
    count = len(grid(space))
    # each setting, and the verdict's blocks of two; the first run has been made
    least = count + 2 * FEWEST_BLOCKS
    assert sweep_settings(space, 1.0, least) == sweep_settings(space, 1.0, None) == count
    with pytest.raises(
        InputError, match=f"a sweep of {count} settings and its verdict take {least + 1} runs of 1 s"
    ) as refused:
        sweep_settings(space, 1.0, least - 1)
    assert f"--max-runs {least + 1}" in str(refused.value.hint)
