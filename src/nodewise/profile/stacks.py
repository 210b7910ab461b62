# SPDX-License-Identifier: BSD-3-Clause
"""Call chains summed up, and in the forms that other tools read: collapsed stacks and speedscope's JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nodewise.profile.samples import UNKNOWN, Taken

#: A stack from the outermost function to the innermost.
Stack = tuple[str, ...]
_SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"
_MICROSECONDS = 1e6
#: The end of a stack with which its line would be read as a difference of two counts.
_NUMBER_BEHIND = re.compile(r" (?=[\d.]+$)")
#: What a reader of lines stumbles over, ends of lines that Unicode knows among it.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def summed(samples: Iterable[Taken], root: str = "") -> Counter[Stack]:
    """How many samples of work each stack has, below `root` where one is named."""
    found: Counter[Stack] = Counter()
    for taken in samples:
        if taken.waited is None:
            found[_stack(taken, root)] += 1
    return found


def waited(samples: Iterable[Taken], root: str = "") -> Counter[Stack]:
    """For how many microseconds threads waited in each stack."""
    found: Counter[Stack] = Counter()
    for taken in samples:
        if taken.waited is not None:
            found[_stack(taken, root)] += round(taken.waited * _MICROSECONDS)
    return found


def _stack(taken: Taken, root: str) -> Stack:
    names = tuple(frame.function for frame in reversed(taken.chain)) or (UNKNOWN,)
    return (root, *names) if root else names


def collapsed(stacks: Mapping[Stack, int]) -> str:
    """One line for each stack, its functions with semicolons between and the count behind, as flamegraph.pl and inferno read it."""
    counts: Counter[str] = Counter()
    for stack, count in stacks.items():
        counts[_NUMBER_BEHIND.sub("_", ";".join(map(_plain, stack)))] += count
    return "".join(f"{stack} {count}\n" for stack, count in sorted(counts.items()) if count)


def _plain(name: str) -> str:
    """A name without what ends a function, a stack or a line there."""
    return _shown(name.replace(";", ":"))


def _shown(name: str) -> str:
    """A name that can be seen, on one line."""
    return _CONTROL.sub(" ", name).strip() or UNKNOWN


def speedscope(threads: Mapping[str, Sequence[Taken]], rate: int, name: str) -> str:
    """The JSON that speedscope reads (its file format, version 0.0.1): one sampled profile for each thread, weights in seconds."""
    frames: dict[tuple[str, str], int] = {}
    profiles: list[dict[str, Any]] = []
    for thread, samples in threads.items():
        stacks, weights = [], []
        for taken in samples:
            if taken.waited is None:
                chain = [(_shown(f.function), f.object) for f in reversed(taken.chain)] or [(UNKNOWN, "")]
                stacks.append([frames.setdefault(key, len(frames)) for key in chain])
                weights.append(1 / rate)
        profiles.append(
            {"type": "sampled", "name": thread, "unit": "seconds", "startValue": 0}
            | {"endValue": sum(weights), "samples": stacks, "weights": weights}
        )
    shared = [{"name": function, "file": file} if file else {"name": function} for function, file in frames]
    document = {"$schema": _SPEEDSCOPE, "name": name, "exporter": "nodewise", "shared": {"frames": shared}}
    return json.dumps({**document, "profiles": profiles})


def tree(stacks: Mapping[Stack, int]) -> dict[str, Any]:
    """The stacks as a tree for drawing: `n` name, `v` count with what is below, `o` that of the function itself, `c` children by falling count."""
    root: dict[str, Any] = {"n": "all", "v": 0, "o": 0, "c": {}}
    for stack, count in stacks.items():
        root["v"] += count
        node = root
        for name in stack:
            node = node["c"].setdefault(name, {"n": name, "v": 0, "o": 0, "c": {}})
            node["v"] += count
        node["o"] += count
    return _listed(root)


def _listed(root: dict[str, Any]) -> dict[str, Any]:
    """With children as lists; not by recursion, since a stack may be deeper than Python's."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        node["c"] = sorted(node["c"].values(), key=lambda child: (-child["v"], child["n"]))
        waiting += node["c"]
    return root
