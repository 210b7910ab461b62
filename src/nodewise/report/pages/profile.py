# SPDX-License-Identifier: BSD-3-Clause
"""The page of a profile: a flame graph that can be searched, and the tables. It carries a small script of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nodewise.base.escaping import one_line, visible
from nodewise.base.units import format_percent
from nodewise.profile.changes import Since
from nodewise.profile.result import FunctionShare, Profiled, object_name, samples_text
from nodewise.profile.samples import UNKNOWN, Taken
from nodewise.profile.stacks import Stack, summed, tree, waited
from nodewise.report.pages.template import environment
from nodewise.report.text.profile import (
    OPENMP_HEADS,
    calling_sentence,
    change_row,
    openmp_row,
    openmp_sentence,
    since_sentence,
)

#: Functions with fewer than this part of all samples are too thin to be seen, or clicked.
_THINNEST = 1 / 4000
_ROWS = 40
_ALL = "all threads"


def by_thread(profiled: Profiled) -> dict[str, list[Taken]]:
    """The samples of each thread, called `rank 3, app (4711)`."""
    names: dict[str, list[Taken]] = {}
    for rank, one in profiled.recorded.items():
        for taken in one.samples:
            life = one.threads[taken.pid, taken.tid]
            name = f"{'' if rank is None else f'rank {rank}, '}{life.name} ({taken.tid})"
            names.setdefault(name, []).append(taken)
    return names


def profile_page(profiled: Profiled, since: Since | None = None) -> str:
    """The HTML of it, one file; the graph is coloured by what changed `since` another profile."""
    from markupsafe import Markup

    result = profiled.result
    threads = by_thread(profiled)
    graphs = {"on": _graphs(profiled.samples, threads, summed), "off": _graphs(profiled.samples, threads, waited)}
    graphs = {kind: several for kind, several in graphs.items() if several or kind == "on"}
    changes = None if since is None else _changes(since)
    # inside a JSON text every < can be written otherwise, so no name in it can end the script element
    data = json.dumps({"graphs": graphs, "changes": changes}).replace("<", "\\u003c")
    return (
        environment()
        .get_template("profile.html")
        .render(
            object_name=object_name,
            samples_text=samples_text,
            openmp_sentence=openmp_sentence,
            openmp_heads=OPENMP_HEADS,
            openmp_row=openmp_row,
            calling=calling_sentence(result),
            result=result,
            command=" ".join(result.command),
            headline=_headline(result.working[0]) if result.working and result.enough else "Too few samples",
            graphs=list(graphs["on"]),
            waits="off" in graphs,
            data=Markup(data),
            rows=_ROWS,
            ranked=any(t.rank is not None for t in result.threads),
            since=since,
            since_sentence=since_sentence,
            change_row=change_row,
        )
    )


def _headline(first: FunctionShare) -> str:
    named = first.function != UNKNOWN
    where = visible(first.function) if named else f"{object_name(first.object)}, whose functions have no names"
    return f"{format_percent(first.share)} in {where}"


def _graphs(
    samples: Iterable[Taken],
    threads: Mapping[str, Sequence[Taken]],
    count: Callable[[Iterable[Taken]], Counter[Stack]],
) -> dict[str, dict[str, Any]]:
    """The trees of all threads together and, where there are several, of each of those that have most; none where nothing is counted."""
    if not (together := count(samples)) and count is not summed:
        return {}
    each = {name: stacks for name, own in threads.items() if (stacks := count(own))}
    most = sorted(each, key=lambda name: (-each[name].total(), name))[:_ROWS] if len(threads) > 1 else []
    return {_ALL: _graph(together)} | {name: _graph(each[name]) for name in most}


def _graph(stacks: Mapping[tuple[str, ...], int]) -> dict[str, Any]:
    """The tree to draw, without what is too thin to be seen; names that look alike are one."""
    shown: Counter[Stack] = Counter()
    for stack, count in stacks.items():
        shown[tuple(map(one_line, stack))] += count
    root = tree(shown)
    least = root["v"] * _THINNEST
    waiting = [root]
    while waiting:
        node = waiting.pop()
        node["c"] = [child for child in node["c"] if child["v"] >= least]
        waiting += node["c"]
    return root


def _changes(since: Since) -> list[tuple[str, str, float]]:
    """Of each function its own share then and now, in words, and by how much it surely changed; 0 where that may be chance."""
    return [
        (
            one.function,
            f"{format_percent(one.before.share)} → {format_percent(one.after.share)} of all samples{'' if one.sure else ', which may be chance'}",
            one.difference if one.sure else 0.0,
        )
        for one in since.changes
    ]
