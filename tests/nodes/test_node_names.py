# SPDX-License-Identifier: BSD-3-Clause
"""Many names of nodes in a short text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.nodes.node_names import expand, fold


@pytest.mark.parametrize("text", ["n[0-3]", "n[08-11]", "n[8-11]", "n0", "n00", "a[001-128],login1"])
def test_what_is_short_stays_so(text: str) -> None:
    assert fold(expand(text)) == text


@given(st.lists(st.from_regex(r"[a-c]?[0-9]{0,3}", fullmatch=True).filter(bool), min_size=1, max_size=30))
def test_no_name_is_lost_or_made_up(names: list[str]) -> None:
    assert sorted(expand(fold(names))) == sorted(set(names))
