# SPDX-License-Identifier: BSD-3-Clause
"""A sample by itself."""

from nodewise.runner.sample import Sample


def test_a_run_that_reached_its_own_limit_was_not_stopped_by_another() -> None:
    cut = Sample(9.9, 9.9, 0.0, error="cut off", cut_off=True)
    assert cut.stopped_before(None) and cut.stopped_before(20.0)
    # what ends it takes a moment, and clocks differ
    assert not cut.stopped_before(9.9) and not cut.stopped_before(10.0)
    assert not Sample(9.9, 9.9, 0.0, error="exit code 1").stopped_before(None)
