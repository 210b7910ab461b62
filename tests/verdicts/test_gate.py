# SPDX-License-Identifier: BSD-3-Clause
"""What stands in the way of a change."""

from nodewise.verdicts.gate import Gate


def test_what_is_slower_or_failed_blocks_with_a_threshold_and_without() -> None:
    assert not Gate(None, (), (), ("a",), False).blocked and not Gate(0.02, (), (), ("a",), True).blocked
    assert Gate(0.02, ("a",), (), (), False).blocked
    assert Gate(0.02, (), ("a",), (), False).blocked and Gate(None, (), ("a",), (), False).blocked
