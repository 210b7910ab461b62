# SPDX-License-Identifier: BSD-3-Clause
"""OMP_PLACES and OMP_PROC_BIND: what --explain says of each word, and what is noted of places that are written."""

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.dialects.omp import DIALECT, write_familiar, write_omp
from nodewise.placement.resolve import Request
from tests.placement.test_dialects import synthetic

SHAPE = "pack:2 l3:2 core:2 pu:2"
PLACES = {
    "cores": "each of the cores is a place.",
    "threads": "each of the threads is a place.",
    "cores(3)": "each of the cores is a place, the first 3.",
    "ll_caches": "each of the ll caches is a place.",
    "numa_domains(1)": "each of the numa domains is a place, the first 1.",
    "{0:4}:2:4": "each entry of the list is a place.",
}
BINDS = {
    "false": ["threads are not bound."],
    "true": ["threads are bound; how they are dealt out is the runtime's choice (Intel: spread, GNU: close)."],
    "master": ["all threads share the first thread's place."],
    "primary": ["all threads share the first thread's place."],
    "close": ["threads take neighbouring places in order."],
    "spread,close": [
        "threads are dealt out evenly over the places.",
        "Level 2 of nested teams: threads take neighbouring places in order.",
    ],
    "close,spread,primary": [
        "threads take neighbouring places in order.",
        "Level 2 of nested teams: threads are dealt out evenly over the places.",
        "Level 3 of nested teams: all threads share the first thread's place.",
    ],
}


def _explained(**asked: str) -> list[str]:
    assert DIALECT.explain is not None
    return DIALECT.explain(synthetic(SHAPE), Request(**asked))


@pytest.mark.parametrize("runtime", ["intel", "llvm", "gnu"])
def test_each_word_is_explained(runtime: str) -> None:
    for text, what in PLACES.items():
        assert _explained(places=text, runtime=runtime) == [f"OMP_PLACES={text}: {what}"]
    for text, (outer, *inner) in BINDS.items():
        expected = [f"OMP_PROC_BIND={text}: {outer}", *inner]
        assert _explained(bind=text, runtime=runtime) == expected
        assert _explained(places="cores", bind=text, runtime=runtime)[1:] == expected
    assert _explained(max_active_levels="2", runtime=runtime) == []


def test_what_gnus_runtime_refuses_is_not_explained_and_others_refuse_it() -> None:
    assert _explained(places="pear", bind="close", runtime="gnu") == [f"OMP_PROC_BIND=close: {BINDS['close'][0]}"]
    assert _explained(places="cores", bind="pear", runtime="gnu") == [f"OMP_PLACES=cores: {PLACES['cores']}"]
    for runtime in ("intel", "llvm"):
        for asked in ({"places": "pear"}, {"bind": "pear"}):
            with pytest.raises(InputError):
                _explained(runtime=runtime, **asked)
    # a stride is Intel's alone
    assert _explained(places="cores(2:2)", runtime="intel") == [
        "OMP_PLACES=cores(2:2): each of the cores is a place, the first 2."
    ]
    with pytest.raises(InputError):
        _explained(places="cores(2:2)", runtime="llvm")
    # and GNU's reads a number below zero as one from above
    assert _explained(places="{1:2:-1}:2:+3", runtime="gnu") == [
        "OMP_PLACES={1:2:-1}:2:+3: each entry of the list is a place."
    ]


@pytest.mark.parametrize(
    ("places", "lost"),
    [
        ([(0,), (4,), (10,)], "0,4"),
        ([(0,), (10,)], "0"),
        ([(4,)], "4"),
        ([(0, 10), (4,)], "0,4"),
        # a place that has both of them loses none
        ([(0, 4), (10,)], None),
        ([(0, 4, 10)] * 2, None),
        ([(10,)], None),
    ],
)
def test_what_intels_runtime_does_not_tell_apart_is_noted(places: list[tuple[int, ...]], lost: str | None) -> None:
    """Of a part of a machine where no cache has a second core it takes caches and cores for one layer."""
    written = write_omp(synthetic(SHAPE, "0,4,10"), places)
    assert written.notes == (
        (
            f"of what is allowed here Intel's runtime does not tell processors {lost} apart: it binds a thread of one of "
            "them to others, too",
        )
        if lost
        else ()
    )
    assert write_omp(synthetic(SHAPE), places).notes == ()


@pytest.mark.parametrize(
    ("shape", "places", "names"),
    [
        (SHAPE, [(2 * i, 2 * i + 1) for i in range(8)], "cores close"),
        (SHAPE, [(4 * i, 4 * i + 1) for i in range(4)], "cores spread"),
        (SHAPE, [(i,) for i in range(5)], "threads close"),
        (SHAPE, [(4 * i,) for i in range(4)], "threads spread"),
        (SHAPE, [tuple(range(8)), tuple(range(8, 16))], "sockets close"),
        (SHAPE, [(0, 1), (2, 3), (0, 1)], None),
        (SHAPE, [(0, 1, 2, 3), (4, 5, 6, 7)], None),
        # what one runtime takes for a socket is none to others
        ("numa:2 core:2 pu:1", [(0, 1), (2, 3)], None),
        ("numa:2 core:2 pu:1", [(0, 1, 2, 3)], None),
    ],
)
def test_names_are_written_where_all_runtimes_so_place_threads(
    shape: str, places: list[tuple[int, ...]], names: str | None
) -> None:
    written = write_familiar(synthetic(shape), places)
    if names is None:
        assert written is None
    else:
        kind, bind = names.split()
        assert written is not None and written.notes == ()
        assert written.env == {"OMP_NUM_THREADS": str(len(places)), "OMP_PLACES": kind, "OMP_PROC_BIND": bind}
    # of a part it is not known what there will be
    assert write_familiar(synthetic(shape, "0-2"), places) is None
