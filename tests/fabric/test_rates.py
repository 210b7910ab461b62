# SPDX-License-Identifier: BSD-3-Clause
"""Rates of links: the published figures, and words that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base.errors import InputError
from nodewise.fabric.rates import RATES, SOLD, WIDTHS, all_links, facing, link, parse_links, parse_printed

#: Gb/s of data at 1X, 4X and 12X, as vendors' tables have them.
TABLE = {
    "SDR": (2, 8, 24),
    "DDR": (4, 16, 48),
    "QDR": (8, 32, 96),
    "FDR10": (10, 40, 120),
    "FDR": (13.64, 54.55, 163.64),
    "EDR": (25, 100, 300),
    "HDR": (50, 200, 600),
    "NDR": (100, 400, 1200),
    "XDR": (200, 800, 2400),
}


@pytest.mark.parametrize("rate", TABLE)
def test_data_rates_are_the_published_ones(rate: str) -> None:
    assert [round(link(w, rate).data_gbits, 2) for w in (1, 4, 12)] == list(TABLE[rate])


def test_signalling_is_told_apart_from_data() -> None:
    qdr = link(4, "QDR")
    assert (qdr.signalling_gbits, qdr.data_gbits, qdr.encoding) == (40, 32, "8b/10b")
    assert link(4, "HDR").signalling_gbits == 212.5 and link(4, "HDR").data_gbits == 200
    assert link(2, "HDR").sold_as == "HDR100" and link(2, "NDR").sold_as == "NDR200"
    assert link(4, "QDR").seconds(32_000_000_000 // 8) == pytest.approx(1)


def test_wires_are_a_pair_each_way_for_each_lane() -> None:
    assert [link(w, "SDR").wires for w in (1, 4, 12)] == [4, 16, 48]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("40 Gb/sec (4X QDR)", "4X QDR"),
        ("40 Gb/sec (4X FDR10)", "4X FDR10"),
        ("56 Gb/sec (4X FDR)", "4X FDR"),
        ("14 Gb/sec (1X FDR)", "1X FDR"),
        ("2.5 Gb/sec (1X SDR)", "1X SDR"),
        ("10 Gb/sec (4X SDR)", "4X SDR"),
        ("10 Gb/sec (4X)", "4X SDR"),
        ("100 Gb/sec (4X EDR)", "4X EDR"),
        ("100 Gb/sec (2X HDR)", "2X HDR"),
        ("200 Gb/sec (4X HDR)", "4X HDR"),
        ("400 Gb/sec (4X NDR)", "4X NDR"),
        ("800 Gb/sec (4X XDR)", "4X XDR"),
    ],
)
def test_what_sysfs_prints_is_a_link(text: str, label: str) -> None:
    found = parse_printed(text + "\n")
    assert found is not None and found.label == label


@pytest.mark.parametrize(
    "text",
    ["", "40 Gb/sec", "32 Gb/sec (4X QDR)", "40 Gb/sec (3X QDR)", "40 Gb/sec (4X ZDR)", "40 GB/sec (4X QDR)", "QDR"],
)
def test_what_sysfs_does_not_print_is_none(text: str) -> None:
    assert parse_printed(text) is None


@given(st.sampled_from(WIDTHS), st.sampled_from(list(RATES)), st.booleans(), st.booleans(), st.booleans())
def test_a_link_is_read_however_it_is_spelled(width: int, rate: str, low: bool, turned: bool, stuck: bool) -> None:
    words = [f"{width}X", rate]
    text = "".join(words) if stuck else " ".join(reversed(words) if turned else words)
    assert parse_links([text.lower() if low else text]) == (link(width, rate),)
    assert parse_printed(link(width, rate).printed) == link(width, rate)


@given(st.text(max_size=20))
def test_any_word_is_a_link_or_refused(text: str) -> None:
    try:
        found = parse_links([text])
    except InputError as problem:
        assert problem.hint
    else:
        assert all(one in all_links() for one in found) and bool(found) == bool(text.split())


@given(st.text(max_size=40))
def test_any_line_of_sysfs_is_a_link_or_none(text: str) -> None:
    assert parse_printed(text) in (None, *all_links())


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["QDR"], "QDR by itself says no speed"),
        (["4X"], "4X is no link: the rate is missing"),
        (["3X", "QDR"], "no such width: 3X; did you mean 2X?"),
        (["16x", "qdr"], "no such width: 16X; did you mean 12X?"),
        (["4Y", "QDR"], "no such width: 4Y; did you mean 4X?"),
        (["4X", "QRD"], "no such rate: QRD; did you mean QDR?"),
        (["4X", "zzz"], "no such rate: ZZZ; did you mean "),
        (["4", "QDR"], "4 is neither a width nor a rate; did you mean 4X?"),
        (["4X", "HDR100"], "HDR100 is a width already: 2X HDR"),
        (["4X", "12X", "QDR"], "4X is no link"),
        (["QDR", "SDR", "4X"], "QDR by itself says no speed"),
    ],
)
def test_a_word_that_is_none_names_the_nearest(words: list[str], what: str) -> None:
    with pytest.raises(InputError) as problem:
        parse_links(words)
    assert problem.value.what.startswith(what) and problem.value.hint


def test_names_of_trade_are_links() -> None:
    assert parse_links(list(SOLD)) == tuple(link(*what) for what in SOLD.values())


def test_between_two_ports_the_lesser_of_both_comes_up() -> None:
    assert facing(link(4, "QDR"), link(1, "SDR")) == link(1, "SDR")
    assert facing(link(4, "SDR"), link(1, "HDR")) == link(1, "SDR")
    for one in all_links():
        assert facing(one, one) == one
