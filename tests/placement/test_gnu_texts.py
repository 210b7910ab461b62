# SPDX-License-Identifier: BSD-3-Clause
"""GNU's grammar of OMP_PLACES and GOMP_CPU_AFFINITY: what is written is what is read, up to each bound and not beyond."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.placement.openmp.gnu_text import KINDS, Entry, GnuPlaces, Members, expand, read_gnu_places, read_gomp
from tests.examples import examples

_BLANKS = st.sampled_from(["", "", " ", "\t "])
_SMALL = st.integers(0, 12)
_STRIDES = st.integers(-4, 4)
_MEMBERS = st.builds(Members, _SMALL, st.integers(1, 4), _STRIDES) | st.builds(Members, _SMALL, excluded=st.just(True))
_ENTRIES = st.builds(Entry, st.lists(_MEMBERS, min_size=1, max_size=3).map(tuple), st.integers(1, 4), _STRIDES) | (
    st.builds(Entry, st.lists(_MEMBERS, min_size=1, max_size=2).map(tuple), removed=st.just(True))
)
_LISTS = st.lists(_ENTRIES, min_size=1, max_size=4)


def _repeated(count: int, stride: int) -> list[str]:
    return [":", str(count), ":", str(stride)] if (count, stride) != (1, 1) else []


def _signs(entries: list[Entry]) -> list[str]:
    """A list of places as its signs and numbers."""
    made: list[str] = []
    for entry in entries:
        made += [",", *"!" * entry.removed, "{"]
        for i, one in enumerate(entry.members):
            # no blank may stand between these two
            made += [*[("," if i else "") + "!" * one.excluded], str(one.start), *_repeated(one.count, one.stride)]
        made += ["}", *_repeated(entry.count, entry.stride)]
    return made[1:]


@given(_LISTS, st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_list_of_places_is_read_as_it_is_written_whatever_blanks_it_has(
    entries: list[Entry], data: st.DataObject
) -> None:
    signs = _signs(entries)
    text = "".join(data.draw(_BLANKS) + sign for sign in signs)
    assert read_gnu_places(text + data.draw(_BLANKS)) == GnuPlaces(entries=tuple(entries))
    # and not where a part of it is missing at the end
    if signs[-1] in "}":
        with pytest.raises(InputError, match=rf"column {len(text)}: expected ',', ':' or '}}', found its end"):
            read_gnu_places(text[:-1])
    with pytest.raises(InputError, match="expected ',', ':' or the end, found '}'"):
        read_gnu_places(text + "}")


def test_a_blank_between_a_comma_and_what_is_left_out_is_refused() -> None:
    with pytest.raises(InputError, match="column 7: expected '!' without a blank before it"):
        read_gnu_places("{0:2, !0}")
    assert read_gnu_places("{ ! 0 , 0:2}, ! {1}") == read_gnu_places("{!0,0:2},!{1}")


@given(st.sampled_from(sorted(KINDS)), st.none() | st.integers(0, 2**64 - 1), st.data())
@settings(max_examples=30, deadline=None)
def test_a_name_is_read_whatever_its_case_with_its_limit(name: str, limit: int | None, data: st.DataObject) -> None:
    signs = [
        data.draw(st.sampled_from([name, name.upper(), name.title()])),
        *(("(", str(limit), ")") if limit is not None else ()),
    ]
    text = "".join(data.draw(_BLANKS) + sign for sign in signs) + data.draw(_BLANKS)
    assert read_gnu_places(text) == GnuPlaces(
        {"ll_caches": "ll_cache", "numa_domains": "numa_domain"}.get(name, name[:-1]), limit
    )
    for more in ("x", ",{0}", "1"):
        with pytest.raises(InputError, match="expected" if limit is None else "expected the end"):
            read_gnu_places(text + more)


_BASES = st.sampled_from(["{}", "+{}", "0x{:x}", "0X{:X}", "0{:o}"])


@given(
    st.lists(
        st.tuples(st.integers(0, 70), st.none() | st.integers(0, 40), st.none() | st.integers(1, 70)),
        min_size=1,
        max_size=5,
    ),
    st.data(),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_list_of_processors_is_read_in_any_base(
    ranges: list[tuple[int, int | None, int | None]], data: st.DataObject
) -> None:
    expected: list[int] = []
    pieces = []
    for first, more, stride in ranges:
        numbers = [first, first + (more or 0), stride or 1][: 1 if more is None else 2 if stride is None else 3]
        written = [data.draw(_BASES).format(number) for number in numbers]
        pieces.append("".join(sign + word for sign, word in zip(["", "-", ":"], written, strict=False)))
        expected += range(first, first + (more or 0) + 1, stride if more is not None and stride else 1)
    text = pieces[0] + "".join(data.draw(st.sampled_from([",", " ", " , "])) + piece for piece in pieces[1:])
    assert read_gomp(text) == tuple(expected)


def _listed(entries: list[Entry], top: int, usable: set[int]) -> tuple[list[tuple[int, ...]], int] | None:
    """What the runtime makes of a list, number by number; None where it refuses it."""
    found: list[set[int]] = []
    for entry in entries:
        place: set[int] = set()
        for one in entry.members:
            place |= {one.start + i * one.stride for i in range(one.count) if not one.excluded}
        for one in entry.members:
            if one.excluded and one.start not in place:
                return None
            place -= {one.start} if one.excluded else set()
        written = {one.start + i * one.stride for one in entry.members for i in range(one.count)}
        copies = [{p + i * entry.stride for p in place} for i in range(entry.count)]
        if not all(0 <= p < top for numbers in (written, *copies) for p in numbers):
            return None
        if entry.removed and place not in found:
            return None
        if entry.removed:
            found.remove(place)
        else:
            found += copies
    kept = [tuple(sorted(place & usable)) for place in found if place & usable]
    return (kept, len(found) - len(kept)) if kept else None


@given(_LISTS, st.integers(4, 16), st.sets(_SMALL))
@settings(max_examples=examples(150), deadline=None)
def test_places_come_to_what_each_number_says(entries: list[Entry], top: int, usable: set[int]) -> None:
    # the first place taken out again, so that some of those are there
    entries = [*entries, Entry(entries[0].members, removed=True)] if len(entries) % 2 else entries
    expected = _listed(entries, top, usable)
    if expected is None:
        with pytest.raises(InputError):
            expand(GnuPlaces(entries=tuple(entries)), top, usable)
    else:
        assert expand(GnuPlaces(entries=tuple(entries)), top, usable) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{8}", "processor 8 is out of 0 to 7"),
        ("{6:3}", "processor 8 is out of 0 to 7"),
        ("{9:2:-4}", "processor 9 is out of 0 to 7"),
        ("{2:4:-1}", "processor -1 is out of 0 to 7"),
        ("{0,3}:2:-2", "processor 0-2 is out of the range 0 to 7"),
        ("{6,7}:2:2", "processor 6+2 is out of the range 0 to 7"),
        ("{5,6}:3", "processor 7+1 is out of the range 0 to 7"),
        ("{0},!{0,1}", "the place {0,1} is to be taken out, and no place before it is equal"),
        ("{0,!1}", "processor 1 is to be taken out of a place that does not have it"),
        ("{7}", "no place has a processor that may be used"),
    ],
)
def test_a_list_that_is_refused_names_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(InputError) as problem:
        expand(read_gnu_places(text), 8, {0, 1})
    assert (problem.value.what, problem.value.hint) == (
        f"OMP_PLACES: {why}",
        "GNU's runtime then ignores the whole list",
    )


@pytest.mark.parametrize(
    ("text", "places"),
    [("{0},{1},!{0},{2}", ((1,), (2,))), ("{1},{1},!{1}", ((1,),)), ("{4}:3:-2", ((4,), (2,), (0,)))],
)
def test_what_is_taken_out_is_gone_and_what_stands_behind_it_stays(
    text: str, places: tuple[tuple[int, ...], ...]
) -> None:
    assert expand(read_gnu_places(text), 8, set(range(8))) == ([*places], 0)


#: What is just within a bound, and what is just beyond it with the column and what is expected there.
_PLACES = {
    f"{{{2**64 - 1}}}": (f"{{{2**64}}}", 2, "a processor's number below 2^64"),
    f"{{{'0' * 40}1}}": (f"{{{'1' * 23}}}", 2, "a processor's number"),
    f"{{0:2:{2**63 - 1}}}": (f"{{0:2:{2**63}}}", 6, "a stride below 2^63"),
    f"{{0:2:-{2**63}}}": (f"{{0:2:-{2**63 + 1}}}", 6, "a stride below 2^63"),
    "{0:1}": ("{0:0}", 4, "at least one processor"),
    "{0}:65535": ("{0}:65536", 5, "from 1 to 65535 places"),
    "{0}:1": ("{0}:0", 5, "from 1 to 65535 places"),
    "{0}:65535,1": ("{0}:65535,1,2", 13, "at most 65536 places"),
    "{0}:65534,1,!{0},!{1}": ("{0}:65534,!{0},1,!{1},{2}", 23, "at most 65536 places"),
    "{0}:65534,!{0},1": ("{0}:65534,!{0},1,2", 18, "at most 65536 places"),
    "7": ("x", 1, "one of threads, cores, sockets, ll_caches, numa_domains, or a list"),
    "cores": ("", 1, "one of threads, cores, sockets, ll_caches, numa_domains, or a list"),
    " cores (3)": (" cores 3", 8, "'(' or the end"),
    "cores(3)": ("cores(3),", 9, "the end"),
}
_LISTED = {
    "65535": ("65536", 1, "a range that runs upwards, below 65536"),
    "0-1:65535": ("0-1:65536", 1, "a range that runs upwards, below 65536"),
    "0177777": (f"0{2**64 - 1:o}", 1, "a range that runs upwards, below 65536"),
    "0000177777": (f"01{2**64 - 1:o}", 1, "a processor's number"),
    "0xfffe-0xffff:0x2": ("1 2-1", 3, "a range that runs upwards, below 65536"),
}


@pytest.mark.parametrize(
    ("read", "variable", "within", "beyond"),
    [
        *((read_gnu_places, "OMP_PLACES", *bound) for bound in _PLACES.items()),
        *((read_gomp, "GOMP_CPU_AFFINITY", *bound) for bound in _LISTED.items()),
    ],
)  # fmt: skip
def test_each_bound_is_read_and_what_is_beyond_is_refused_where_it_stands(read, variable, within, beyond) -> None:  # type: ignore[no-untyped-def]
    text, column, expected = beyond
    read(within)
    with pytest.raises(InputError) as problem:
        read(text)
    assert problem.value.what.startswith(f"{variable}={text!r}, column {column}: expected {expected}, found ")
