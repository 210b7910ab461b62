# SPDX-License-Identifier: BSD-3-Clause
"""The nodes that a launcher's line names, by a list or by a file, and the shape of a job on them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.base.bounded_json import read_bounded
from nodewise.base.errors import InputError
from nodewise.base.late import late
from nodewise.placement.job import MOST_NODES, Job
from nodewise.placement.launcher_options import whole
from nodewise.placement.seating import Seating

#: More than any file of hosts has, in bytes.
_MOST_BYTES = 1 << 24
#: A range in the brackets of Slurm's lists.
_RANGE = late(r"(\d{1,9})(?:-(\d{1,9}))?")
#: A comma that stands outside of brackets, or a blank.
_BETWEEN = late(r"[,\s](?![^\[]*\])")


def in_list(launcher: str, option: str, text: str) -> dict[str, int | None]:
    """The slots of each host of a list such as `a:2,b:2,c`, in order; one for each time that a host is named without a number.

    None stands for as many as it has cores: `*` or `auto`. Raises InputError.
    """
    found: dict[str, int | None] = {}
    for word in text.split(","):
        name, colon, number = word.partition(":")
        if not name or name.startswith("+"):
            raise InputError(f"{launcher}: {option} {text!r}: {word!r} names no host", "write a,b or a:2,b:2")
        before = found.get(name, 0)
        if number.lower() in ("*", "auto") or before is None:
            found[name] = None
        else:
            found[name] = before + (whole(launcher, option, number) if colon else 1)
    return found


def in_file(launcher: str, option: str, path: str, job: Job) -> dict[str, int | None] | None:
    """The slots of each host of a file, a line each: `a:2`, `a slots=2`, or `a`, which has one slot for each time that it is named.

    None as slots stands for what is named once without a number. None where it cannot be read, and `--nodes` says how many there are. Raises
    InputError where nothing does.
    """
    text = _read(launcher, option, path, job)
    if text is None:
        return None
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    times = Counter(words[0].partition(":")[0] for words in lines if words)
    found: dict[str, int | None] = {}
    for words in filter(None, lines):
        name, _, number = words[0].partition(":")
        if bound := next((w for w in words[1:] if w.startswith("binding=")), None):
            raise InputError(
                f"{launcher}: {option} {path}: {bound} binds the ranks of {name} by itself, which is not modelled",
                "leave it out of the file, and say -bind-to",
            )
        slots = next((w.partition("=")[2] for w in words[1:] if re.match("(slots|cpu|count)=", w)), number)
        if slots:
            found[name] = (found.get(name) or 0) + whole(launcher, f"{option}: slots", slots)
        elif times[name] > 1:
            found[name] = (found.get(name) or 0) + 1
        else:
            found[name] = None
    if not found:
        raise InputError(f"{launcher}: {option} {path} names no host", "name one a line")
    return found


def _read(launcher: str, option: str, path: str, job: Job) -> str | None:
    try:
        return read_bounded(Path(path), _MOST_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        pass
    if job.nodes > 1:
        return None
    raise InputError(
        f"{launcher}: {option} bears on placement, as it says how many nodes there are, and {path!r} cannot be read here",
        "leave it out, and say how many there are by --nodes",
    )


def in_slurms_words(launcher: str, option: str, text: str, job: Job) -> int | None:
    """How many nodes a list of Slurm's names, such as `n[1-3,7],login`, or a file of them, whose name has a slash.

    None and InputError as `in_file`.
    """
    if "/" in text:
        read = _read(launcher, option, text, job)
        if read is None:
            return None
        text = " ".join(read.split())
    names: set[str] = set()
    for word in filter(None, _BETWEEN.split(text)):
        some = {word}
        while any("[" in name or "]" in name for name in some):
            more: set[str] = set()
            for name in some:
                more.update(_opened(launcher, option, name))
                if len(more) > MOST_NODES:
                    raise InputError(f"{launcher}: {option} {text!r} names more than {MOST_NODES} nodes")
            some = more
        names |= some
    if not names:
        raise InputError(f"{launcher}: {option} {text!r} names no node", "write n1,n2 or n[1-2]")
    return len(names)


def _opened(launcher: str, option: str, name: str) -> list[str]:
    """What a name with brackets stands for, its first pair taken away."""
    front, _, rest = name.partition("[")
    inside, closed, behind = rest.partition("]")
    found = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or not closed or not first <= last < first + MOST_NODES:
            raise InputError(f"{launcher}: {option} {name!r} names no nodes", "write n1,n2 or n[1-2]")
        found += [f"{front}{number:0{len(match[1])}}{behind}" for number in range(first, last + 1)]
    return found


def filled(
    launcher: str, slots: Mapping[str, int], ranks: int, *, each: int = 0, by_node: bool = False, crowded: bool = False
) -> list[int]:
    """How many ranks each host gets: as many as it has slots, one host after the other; `each` on every one, or one at a time `by_node`.

    Raises InputError where there are not as many slots; `crowded` ranks are then shared out evenly.
    """
    room = sum(slots.values())
    said = ", ".join(f"{name}:{n}" for name, n in list(slots.items())[:8]) + (", …" if len(slots) > 8 else "")
    if ranks > room and not crowded:
        raise InputError(
            f"{launcher} refuses {ranks} ranks: its hosts have {room} slot{'s' * (room != 1)} ({said})",
            f"write more behind a host's name, such as {next(iter(slots))}:{-(-ranks // len(slots))}, or add --oversubscribe",
        )
    limits = list(slots.values())
    if each:
        limits = [each if crowded else min(each, n) for n in limits]
        if ranks > sum(limits):
            raise InputError(
                f"{launcher} refuses {ranks} ranks, {each} a node: its hosts take {sum(limits)} ({said})",
                "name more hosts, or ask for fewer ranks",
            )
    counts = [0] * len(limits)
    left = ranks
    if by_node:
        while left and any(n > taken for n, taken in zip(limits, counts, strict=True)):
            for at, n in enumerate(limits):
                if left and counts[at] < n:
                    counts[at] += 1
                    left -= 1
    else:
        for at, n in enumerate(limits):
            counts[at] = min(n, left)
            left -= counts[at]
    for at in range(len(counts)):
        more = -(-left // (len(counts) - at))
        counts[at] += more
        left -= more
    return counts


def shaped(launcher: str, job: Job, hosts: Sequence[str], counts: Sequence[int], order: str = "block") -> Job:
    """The job on the hosts that get ranks, in that order. Raises InputError where that does not fill them alike, or --nodes says otherwise."""
    used = {name: n for name, n in zip(hosts, counts, strict=True) if n}
    ranks = sum(used.values())
    if job.nodes not in (1, len(used)):
        raise InputError(
            f"{launcher}: its ranks go to {_nodes(len(used))} of those that it names, and --nodes says {job.nodes}",
            "leave --nodes out",
        )
    numbers = list(used.values())
    most = max(numbers)
    try:
        alike = Seating(order, ranks, len(used), most).counts() == numbers
    except InputError:
        alike = False
    if not alike:
        raise _unlike(launcher, used)
    return Job(job.threads, ranks, len(used), most)


def _unlike(launcher: str, used: Mapping[str, int]) -> InputError:
    said = ", ".join(f"{n} on {name}" for name, n in list(used.items())[:8])
    first = next(iter(used))
    return InputError(
        f"{launcher}: its hosts get different numbers of ranks ({said}), and nodes that are filled alike are shown",
        f"ask for one of them alone, such as {first} with {used[first]} rank{'s' * (used[first] != 1)}",
    )


def _nodes(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"


def dealt(launcher: str, job: Job, slots: Mapping[str, int], ranks: int) -> tuple[Job, str]:
    """The job, and the order of its ranks, where each host in turn gets as many as it has slots, round and round (Hydra).

    Raises InputError as `shaped`.
    """
    counts = dict.fromkeys(slots, 0)
    left, turns = ranks, 0
    while left:
        for name, n in slots.items():
            counts[name] += min(n, left)
            left -= min(n, left)
        turns += 1
    chunk = next(iter(slots.values()))
    alone = sum(map(bool, counts.values())) == 1
    order = "block" if turns < 2 or alone else "cyclic" if chunk == 1 else f"plane={chunk}"
    if order != "block" and len(set(slots.values())) > 1:
        raise _unlike(launcher, counts)
    return shaped(launcher, job, list(slots), list(counts.values()), order), order
