# SPDX-License-Identifier: BSD-3-Clause
"""What runs took, with some that were cut off or failed among them."""

import pytest

from nodewise.experiments.costs import Costs
from nodewise.runner.sample import Sample


def test_what_was_cut_off_is_no_usual_cost_and_what_failed_none_of_the_search_s() -> None:
    costs = Costs()
    with pytest.raises(KeyError):
        _ = costs.first_s
    good = Sample(1.0, 1.0, 0.0)
    for seconds in (2.0, 4.0, 3.0):
        costs.take("baseline", good, seconds, searching=False)
    costs.take("baseline", Sample(9.0, 9.0, 0.0, error="too slow", cut_off=True), 50.0, searching=False)
    assert (costs.first_s, costs.baseline_s, costs.slowest_baseline_s) == (2.0, 3.0, 4.0)
    # before the search has made any a run of it is one of the baseline
    assert costs.typical_s == 3.0
    costs.take("c", good, 1.0, searching=True)
    costs.take("d", Sample(0.1, 0.1, 0.0, error="exit code 1"), 0.1, searching=True)
    assert costs.typical_s == 1.0 and "d" not in costs.times
    # a run that failed still has a cost of its own
    assert (costs.pair_s("c"), costs.pair_s("d"), costs.pair_s("never ran")) == pytest.approx((4.0, 3.1, 6.0))
    costs.take("c", Sample(9.0, 9.0, 0.0, error="too slow", cut_off=True), 50.0, searching=True)
    assert costs.pair_s("c") == 4.0 and costs.typical_s == 1.0
