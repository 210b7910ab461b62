# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages asked for by variables."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.huge_pages import huge_page_environment


def test_allocators_are_set_in_their_own_words():
    inherited = {
        "GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.hugetlb=2",
        "MALLOC_CONF": "thp:never,narenas:2",
    }
    env = huge_page_environment("transparent", inherited, ["libjemalloc.so.2", "libmimalloc.so.2"])
    assert env == {
        "GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1",
        "MALLOC_CONF": "narenas:2,thp:always",
        "MIMALLOC_ALLOW_LARGE_OS_PAGES": "1",
    }
    assert huge_page_environment("never", {}, ["libjemalloc.so.2"])["MALLOC_CONF"] == "thp:never"
    assert huge_page_environment("default", inherited) == {}
    with pytest.raises(InputError, match="no such huge pages"):
        huge_page_environment("gigantic", {})
