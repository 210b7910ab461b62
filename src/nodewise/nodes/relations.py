# SPDX-License-Identifier: BSD-3-Clause
"""Rules that take a function: it is given the facts that its rule reads, and says what is wrong, or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from nodewise.base.processors import format_processors

_DAY_S = 86400.0
_MOST_A_DAY = 10
_MOST_OFF_S = 0.1


#: Kernels are built for so many processors at most (CONFIG_NR_CPUS); the last one that there is, which a list calls N, comes before.
_MOST_PROCESSORS = 8192
_RANGE = re.compile(r"(\d{1,5}|N)(?:-(\d{1,5}|N)(?::(\d{1,5})(?:/(\d{1,5}))?)?)?")


@lru_cache(maxsize=256)
def processors(text: str) -> frozenset[int] | None:
    """The processors of a list as the kernel reads it, flags before it left out (`managed_irq,domain,2-15`); None where it is none.

    `N` is the last processor, `all` are all, and of `0-127:1/2` one in each group of two counts
    (docs.kernel.org/admin-guide/kernel-parameters.html, "cpu lists").
    """
    found: set[int] = set()
    for part in text.replace(" ", ",").split(","):
        if part == "all":
            found.update(range(_MOST_PROCESSORS))
        elif part[:1].isdigit() or part[:1] == "N":
            match = _RANGE.fullmatch(part)
            if match is None:
                return None
            first, last = (_number(match[1]), _number(match[2] or match[1]))
            used = int(match[3] or 1)
            group = int(match[4] or (used if match[3] else 1))
            if not (first <= last < _MOST_PROCESSORS and used > 0) or group < 1:
                return None
            # `2-10:2` is each second one; `0-7:2/4` the first two of each four
            taken = used if match[4] else 1
            found.update(p for p in range(first, last + 1) if (p - first) % group < taken)
    return frozenset(found)


def _number(text: str) -> int:
    return _MOST_PROCESSORS - 1 if text == "N" else int(text)


def subset(inner: Any, outer: Any, where_set: bool) -> str | None:
    """Whether the processors of one list are among those of another; with `where_set` only where that one has any."""
    if not isinstance(inner, str) or not isinstance(outer, str) or outer == "all":
        return None
    one, other = processors(inner), processors(outer)
    if one is None or other is None or not one or (where_set and not other):
        return None
    missing = one - other
    return f"{_listed(missing)} of {inner} are not in {outer}" if missing else None


def _listed(numbers: Iterable[int]) -> str:
    """A list of processors, the last of all as N."""
    return format_processors(numbers).replace(str(_MOST_PROCESSORS - 1), "N")


def one_value(values: Any) -> str | None:
    """What the processors have, where that is more than one value."""
    if not isinstance(values, tuple) or len(values) < 2:
        return None
    return ", ".join(f"{value} on {which}" for value, which in values[:4])


def few_a_day(count: Any, uptime: Any) -> str | None:
    """What was counted, where that is more than ten times a day since the start, the first day counted whole."""
    if not count or not uptime:
        return None
    rate = count / max(1.0, uptime / _DAY_S)
    return f"{count} since the node's start, {rate:.3g} a day" if rate > _MOST_A_DAY else None


def within_a_tenth(offset: Any) -> str | None:
    """By how much a clock is off, where that is more than a tenth of a second."""
    return f"off by {offset:.3g} s" if offset is not None and abs(offset) > _MOST_OFF_S else None


def sound_links(ports: Any, uptime: Any) -> str | None:
    """Which ports of a fabric counted more than a hundred errors a day of a kind, or were down more than ten times a day.

    The first day counts whole. Where it is not known how long they counted, nothing can be said.
    """
    if not uptime:
        return None
    days = max(1.0, uptime / _DAY_S)
    bad = []
    for name, port in ports or ():
        counts = dict(dict(port).get("errors") or ())
        worst = [
            f"{n} {v} ({v / days:.3g} a day)"
            for n, v in counts.items()
            if v > (10 if n == "link_downed" else 100) * days
        ]
        bad += [f"{name}: {', '.join(worst)}"] if worst else []
    return "; ".join(bad[:4]) or None


def sound_interfaces(interfaces: Any, uptime: Any) -> str | None:
    """Which of the network's interfaces counted more than a hundred errors a day; the first day counts whole."""
    if not uptime:
        return None
    days = max(1.0, uptime / _DAY_S)
    counts = [(name, dict(one).get("errors") or 0) for name, one in interfaces or ()]
    bad = [f"{name}: {count} ({count / days:.3g} a day)" for name, count in counts if count > 100 * days]
    return "; ".join(bad[:4]) or None


def lanes(link: Any) -> Any:
    """Of a slot's link, `x16 16.0 GT/s PCIe`, how many lanes it has: its speed is lowered while the device is idle."""
    return link.partition(" ")[0] if isinstance(link, str) else link


def one_adapter(ports: Any) -> str | None:
    """Whether the node has one adapter of Omni-Path."""
    found = sorted({name.partition("/")[0] for name, _ in ports or () if name.startswith("hfi1_")})
    return f"{', '.join(found)}" if len(found) > 1 else None


def speed_disturbed(tests: Any) -> str | None:
    """Whether other load was seen in fewer than half of the runs of each test of speed."""
    bad = []
    for name, speed in tests or ():
        facts = dict(speed)
        if facts["disturbed"] and 2 * facts["disturbed"] >= facts["runs"]:
            bad.append(f"{name}: {facts['disturbed']} of {facts['runs']} runs")
    return "; ".join(bad) or None


def all_reached(tests: Any) -> str | None:
    """Which nodes could not be reached to which the speed was to be measured."""
    missing = sorted({text for _, speed in tests or () if (text := dict(speed).get("unreached"))})
    return f"no connection with {'; '.join(missing)}" if missing else None


_LISTS, _COUNTS = frozenset([tuple, dict]), frozenset([int, float])
#: Of which kinds the facts are that a function is given; a new one is a function above, and its line here.
_KINDS: dict[Callable[..., str | None], tuple[frozenset[type], ...]] = {
    one_value: (_LISTS,),
    few_a_day: (_COUNTS, _COUNTS),
    within_a_tenth: (_COUNTS,),
    sound_links: (_LISTS, _COUNTS),
    sound_interfaces: (_LISTS, _COUNTS),
    one_adapter: (_LISTS,),
    speed_disturbed: (_LISTS,),
    all_reached: (_LISTS,),
}
OF_FUNCTIONS = {f.__name__: kinds for f, kinds in _KINDS.items()}
FUNCTIONS = {f.__name__: f for f in _KINDS}
#: What a rule compares of a value instead of all of it; a new one is a function above, and its line here.
PARTS: dict[str, Callable[[Any], Any]] = {f.__name__: f for f in (lanes,)}
