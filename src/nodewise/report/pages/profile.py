# SPDX-License-Identifier: BSD-3-Clause
"""The page of a profile: a flame graph that can be searched, and the tables. It carries a small script of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.base.escaping import one_line, visible
from nodewise.base.units import format_percent
from nodewise.profile.result import Profiled, object_name
from nodewise.profile.samples import Taken
from nodewise.profile.stacks import Stack, summed, tree, waited
from nodewise.report.pages.template import environment
from nodewise.report.text.profile import openmp_sentence

#: Functions with fewer than this part of all samples are too thin to be seen, or clicked.
_THINNEST = 1 / 4000
_ROWS = 40


def by_thread(profiled: Profiled) -> dict[str, list[Taken]]:
    """The samples of each thread, called `rank 3, app (4711)`."""
    names: dict[str, list[Taken]] = {}
    for rank, one in profiled.recorded.items():
        for taken in one.samples:
            life = one.threads[taken.pid, taken.tid]
            name = f"{'' if rank is None else f'rank {rank}, '}{life.name} ({taken.tid})"
            names.setdefault(name, []).append(taken)
    return names


def profile_page(profiled: Profiled, before: Profiled | None = None) -> str:
    """The HTML of it, one file; with `before` the graph is coloured by what changed since."""
    from markupsafe import Markup

    result = profiled.result
    threads = by_thread(profiled)
    graphs = {"all threads": _graph(summed(profiled.samples))}
    if len(threads) > 1:
        graphs |= {name: _graph(summed(samples)) for name, samples in _busiest(threads)}
    standing = waited(profiled.samples)
    if standing:
        graphs["waiting, in µs"] = _graph(standing)
    earlier = None if before is None else _shares(_graph(summed(before.samples)))
    # inside a JSON text every < can be written otherwise, so no name in it can end the script element
    data = json.dumps({"graphs": graphs, "before": earlier}).replace("<", "\\u003c")
    first = result.functions[0] if result.functions else None
    return (
        environment()
        .get_template("profile.html")
        .render(
            object_name=object_name,
            openmp_sentence=openmp_sentence,
            result=result,
            command=" ".join(result.command),
            headline=f"{format_percent(first.share)} in {visible(first.function)}"
            if first is not None and result.enough
            else "Too few samples",
            graphs=list(graphs),
            data=Markup(data),
            rows=_ROWS,
            ranked=any(t.rank is not None for t in result.threads),
            before=None if before is None else before.result,
        )
    )


def _busiest(threads: Mapping[str, Sequence[Taken]]) -> list[tuple[str, Sequence[Taken]]]:
    return sorted(threads.items(), key=lambda item: -len(item[1]))[:_ROWS]


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


def _shares(root: dict[str, Any]) -> dict[str, float]:
    """Each stack's share, by its functions with a line end between."""
    found: dict[str, float] = {}
    waiting = [("", root)]
    while waiting:
        path, node = waiting.pop()
        found[path] = node["v"] / (root["v"] or 1)
        waiting += [(f"{path}\n{child['n']}", child) for child in node["c"]]
    return found
