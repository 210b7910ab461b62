# SPDX-License-Identifier: BSD-3-Clause
"""Rates of InfiniBand links: what is signalled on the wire, what of it is data, and never a rate without a width.

Lane rates and encodings are those of the InfiniBand Architecture Specification, volume 2; how the kernel prints them is in its
drivers/infiniband/core/sysfs.c.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant

#: Lanes that a link may have.
WIDTHS = (1, 2, 4, 8, 12)
#: A lane is a pair of wires in each direction.
_WIRES_OF_A_LANE = 4
_B8, _B64 = Fraction(8, 10), Fraction(64, 66)
#: From HDR on: forward error correction, Reed-Solomon (544, 514), around 256 bits in 257.
_B256 = Fraction(514, 544) * Fraction(256, 257)
_ENCODINGS = {_B8: "8b/10b", _B64: "64b/66b", _B256: "256b/257b and RS(544,514)"}


@dataclass(frozen=True)
class _Rate:
    """What a lane signals in Gb/s, the share of it that is data, and what the kernel takes a lane for as it prints `rate`."""

    lane: Fraction
    data: Fraction
    printed: Fraction


RATES = {
    "SDR": _Rate(Fraction("2.5"), _B8, Fraction("2.5")),
    "DDR": _Rate(Fraction(5), _B8, Fraction(5)),
    "QDR": _Rate(Fraction(10), _B8, Fraction(10)),
    "FDR10": _Rate(Fraction("10.3125"), _B64, Fraction(10)),
    "FDR": _Rate(Fraction("14.0625"), _B64, Fraction(14)),
    "EDR": _Rate(Fraction("25.78125"), _B64, Fraction(25)),
    "HDR": _Rate(Fraction("53.125"), _B256, Fraction(50)),
    "NDR": _Rate(Fraction("106.25"), _B256, Fraction(100)),
    "XDR": _Rate(Fraction("212.5"), _B256, Fraction(200)),
}
#: Names of trade that say a width without naming it.
SOLD = {"HDR100": (2, "HDR"), "NDR200": (2, "NDR")}
_WIDTH = re.compile(r"(\d{1,4})X", re.IGNORECASE)
_PRINTED = re.compile(r"(\d+(?:\.\d+)?) Gb/sec(?: \((\d+)X(?: (\w+))?\))?")


@dataclass(frozen=True)
class Link:
    """A link of InfiniBand, in Gb/s of one direction; the other has as much at the same time.

    `signalling_gbits` is what goes over the wire, `data_gbits` what of it is data. `lane_gbits` is one lane's signalling, `wires`
    those of both directions, `printed` how sysfs shows the link, `sold_as` another name of it (empty: none).
    """

    width: int
    rate: str
    lane_gbits: float
    signalling_gbits: float
    data_gbits: float
    encoding: str
    data_share: float
    wires: int
    printed: str
    sold_as: str

    @property
    def label(self) -> str:
        """Width and rate: `4X QDR`."""
        return f"{self.width}X {self.rate}"

    def seconds(self, size: int) -> float:
        """The least time for that many bytes, in one direction."""
        return size * 8 / (self.data_gbits * 1e9)


def link(width: int, rate: str) -> Link:
    """The link of a width in WIDTHS and a rate in RATES."""
    known = RATES[rate]
    signalling = known.lane * width
    printed = known.printed * width
    # the kernel adds .5 where there is a half, and no other fraction
    shown = f"{int(printed)}{'.5' if printed % 1 else ''} Gb/sec ({width}X {rate})"
    sold = next((name for name, what in SOLD.items() if what == (width, rate)), "")
    return Link(
        width=width,
        rate=rate,
        lane_gbits=float(known.lane),
        signalling_gbits=float(signalling),
        data_gbits=float(signalling * known.data),
        encoding=_ENCODINGS[known.data],
        data_share=float(known.data),
        wires=width * _WIRES_OF_A_LANE,
        printed=shown,
        sold_as=sold,
    )


def all_links() -> tuple[Link, ...]:
    """Every rate at every width."""
    return tuple(link(width, rate) for rate in RATES for width in WIDTHS)


def parse_links(words: Sequence[str]) -> tuple[Link, ...]:
    """Links as they are typed: `4X QDR`, `qdr 4x`, `4XQDR`, `HDR100`, one behind the other. Raises InputError, which names the nearest."""
    found: list[Link] = []
    width: int | None = None
    rate: str | None = None
    for word in _apart(words):
        if word in SOLD and width is None and rate is None:
            found.append(link(*SOLD[word]))
            continue
        if _WIDTH.fullmatch(word):
            if width is not None:
                raise InputError(f"{width}X is no link: the rate is missing", f"write it such as {width}X QDR")
            width = _width(word)
        else:
            if rate is not None:
                raise _no_width(rate)
            rate = _rate(word)
        if width is not None and rate is not None:
            found.append(link(width, rate))
            width = rate = None
    if rate is not None:
        raise _no_width(rate)
    if width is not None:
        raise InputError(f"{width}X is no link: the rate is missing", f"write it such as {width}X QDR")
    return tuple(found)


def _apart(words: Sequence[str]) -> list[str]:
    """Words in capitals; a width that sticks to its rate is a word of its own."""
    parts: list[str] = []
    for word in " ".join(words).upper().split():
        stuck = re.fullmatch(r"(\d{1,4}X)([A-Z].*)", word)
        parts += stuck.groups() if stuck else [word]
    return parts


def _width(word: str) -> int:
    number = int(word[:-1])
    if number not in WIDTHS:
        near = min(WIDTHS, key=lambda w: (abs(w - number), w))
        raise InputError(
            f"no such width: {number}X; did you mean {near}X?", f"widths are {', '.join(f'{w}X' for w in WIDTHS)}"
        )
    return number


def _rate(word: str) -> str:
    if word in RATES:
        return word
    if word in SOLD:
        width, rate = SOLD[word]
        raise InputError(f"{word} is a width already: {width}X {rate}", f"write {word} by itself, or {width}X {rate}")
    if re.fullmatch(r"\d+", word):
        number = int(word)
        near = min(WIDTHS, key=lambda w: (abs(w - number), w))
        raise InputError(f"{word} is neither a width nor a rate; did you mean {near}X?", "write a link such as 4X QDR")
    if wide := re.fullmatch(r"(\d{1,4})[A-Z]", word):
        raise InputError(
            f"no such width: {word}; did you mean {wide[1]}X?", f"widths are {', '.join(f'{w}X' for w in WIDTHS)}"
        )
    shown = meant(word, RATES) or f"; did you mean {_nearest(word)}?"
    raise InputError(f"no such rate: {word[:40]}{shown}", f"rates are {', '.join(RATES)}")


def _nearest(word: str) -> str:
    """The rate with the most letters of a word in it."""
    return max(RATES, key=lambda rate: sum(a == b for a, b in zip(rate, word, strict=False)))


def _no_width(rate: str) -> InputError:
    ways = ", ".join(f"{w}X {rate} ({link(w, rate).data_gbits:.4g} Gb/s of data)" for w in (1, 4, 12))
    return InputError(f"{rate} by itself says no speed: the width is missing", f"write it with its width: {ways}")


def parse_printed(text: str) -> Link | None:
    """The link that sysfs's `rate` shows; None where its label is none that is known, or its number does not fit the label.

    The number is what is signalled up to FDR and data from EDR on, so that the label alone is taken.
    """
    match = _PRINTED.fullmatch(text.strip())
    if match is None or match[2] is None:
        return None
    width, rate = int(match[2]), match[3] or "SDR"
    if width not in WIDTHS or rate not in RATES:
        return None
    made = link(width, rate)
    return made if made.printed.split()[0] == match[1] else None


def printed_gbits(text: str) -> float | None:
    """The number that sysfs's `rate` begins with, of a layer that is no InfiniBand: there it is what the network carries."""
    match = _PRINTED.fullmatch(text.strip())
    return float(match[1]) if match else None


def facing(one: Link, other: Link) -> Link:
    """What comes up between two ports: the fewer lanes and the slower rate."""
    order = list(RATES)
    return link(min(one.width, other.width), min(one.rate, other.rate, key=order.index))
