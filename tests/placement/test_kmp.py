# SPDX-License-Identifier: BSD-3-Clause
"""KMP_AFFINITY and KMP_HW_SUBSET: what --explain says of each word of theirs, and how places are written with them, in full."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects.kmp import DIALECT, write_kmp
from nodewise.placement.dialects.subset import write_subset
from nodewise.placement.rendering import NotExpressibleError
from nodewise.placement.resolve import Request
from tests.placement.test_dialects import synthetic
from tests.placement.whole import hold

SHAPE = "pack:2 l3:2 core:2 pu:2"
#: Types, granularities, permutations, and offsets up to the last place and past it.
TEXTS = """none disabled compact scatter balanced explicit,proclist=[0,1] logical physical compact,1 compact,2 scatter,1,3
    granularity=fine,compact granularity=thread,compact granularity=core,compact granularity=l3_cache,compact compact,0,15
    granularity=socket,scatter granularity=1,compact granularity=0,compact granularity=9,compact compact,0,16 compact,0,17
    logical,7 logical,8 logical,9 physical,3 norespect,compact"""
#: By the first processors of threads' places, each with as many as the number behind it.
PLACES = """0,2 0,1,2,3 4,6 4,6,4,6 2,6 0,8 0,8,1,9 0:2,2:2 0:2,2:2,0:2 0:16,0:16 0:4,0:4 4:2,6:2 2 14,15 15 0,4 0,2,4,6
    0,1,2 0,0 0,4,2,6 0:2 0,0,2,2 6,4 0:4,4:4 8:8,8:8"""


def _places(text: str) -> list[tuple[int, ...]]:
    found = []
    for word in text.split(","):
        first, _, count = word.partition(":")
        found.append(tuple(range(int(first), int(first) + int(count or 1))))
    return found


def test_what_each_word_does_is_said() -> None:
    said = []
    assert DIALECT.explain is not None
    for allow in (None, "0,2"):
        for text in TEXTS.split():
            said += [f"# {text} {allow or 'all'}"]
            said += DIALECT.explain(synthetic(SHAPE, allow), Request(affinity=text))
    # that of LLVM's passes over what stands behind a word that it does not know
    for runtime in ("intel", "llvm"):
        request = Request(affinity="reset, compact", runtime=runtime)
        said += [f"# {runtime}", *DIALECT.explain(synthetic(SHAPE), request)]
    hold("kmp", said)


def test_all_that_is_written() -> None:
    said = []
    for write in (write_subset, write_kmp):
        for text in PLACES.split():
            try:
                made = write(synthetic(SHAPE), _places(text))
            except InputError as problem:
                said.append(f"{text}: {problem.what} | {problem.hint}")
                continue
            said.append(f"{text}: {made.line()} | {'; '.join(made.notes)}")
    hold("kmp written", said)


def test_single_threads_that_the_runtime_takes_for_one_are_not_written() -> None:
    """Of cores of two caches, one has one core and the other none but it: the runtime drops the layer of cores."""
    with pytest.raises(NotExpressibleError, match="takes layers of this machine for one another"):
        write_kmp(synthetic(SHAPE, "0,4,10"), [(0,), (4,), (10,)])
    assert "proclist=[{0,4}],explicit" in write_kmp(synthetic(SHAPE, "0,4,10"), [(0, 4)]).env["KMP_AFFINITY"]


def test_a_long_list_is_written_as_a_type_where_both_kinds_of_layers_place_so() -> None:
    """Without hwloc the runtime sees no NUMA nodes, and scatters over the cores alone."""
    for shape, texts in (("pack:4 core:260 pu:1", "granularity=fine,scatter"), ("numa:4 core:260 pu:1", "proclist")):
        scattered = [(260 * (i % 4) + i // 4,) for i in range(1040)]
        written = write_kmp(synthetic(shape), scattered).env
        assert texts in written["KMP_AFFINITY"] and written["OMP_NUM_THREADS"] == "1040"
    compact = write_kmp(synthetic("numa:4 core:260 pu:1"), [(i,) for i in range(1040)]).env
    assert compact["KMP_AFFINITY"] == "granularity=fine,compact"
