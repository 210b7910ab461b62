# SPDX-License-Identifier: BSD-3-Clause
"""Many names of nodes in a short text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.nodes.node_names import expand, fold


@pytest.mark.parametrize("text", ["n[0-3]", "n[08-11]", "n[8-11]", "n0", "n00", "a[001-128],login1"])
def test_what_is_short_stays_so(text: str) -> None:
    assert fold(expand(text)) == text


@given(st.lists(st.from_regex(r"[a-c]?[0-9]{0,3}", fullmatch=True).filter(bool), min_size=1, max_size=30))
def test_no_name_is_lost_or_made_up(names: list[str]) -> None:
    assert sorted(expand(fold(names))) == sorted(set(names))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("n[1-99999999]", "more than 200000 nodes"),
        ("n[٣-٥]", "not a list"),
        ("n[1-10/3]", "without steps"),
        ("n[3-1]", "not a list"),
    ],
)
def test_what_is_no_list_or_too_long_is_said_to_be(text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        expand(text)
    assert told in f"{caught.value.what} {caught.value.hint}"
