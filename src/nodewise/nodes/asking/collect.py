# SPDX-License-Identifier: BSD-3-Clause
"""Collecting snapshots: each as the line of JSON that `nodewise snapshot` prints, and of who gave none a line that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nodewise.base.bounded_json import parse_json
from nodewise.nodes.asking.ask import Answer, ask
from nodewise.nodes.asking.silence import silence
from nodewise.nodes.asking.starters import Starter
from nodewise.nodes.checked import problem_of


def collect(
    starter: Starter,
    nodes: Sequence[str],
    words: Sequence[str],
    seconds: float,
    fanout: int,
    tell: Callable[[str, str, str], None],
    environment: Mapping[str, str],
) -> None:
    """Ask each of the nodes by `words`, and tell of each once, as it comes: its name, a line of JSON without its end, and the reason
    where that is a `silence`. See `ask.ask`."""

    def heard(answer: Answer) -> None:
        reason = answer.reason
        if answer.text is not None:
            reason = _problem(answer.text) or ""
        line = silence(answer.node, reason) if reason or answer.text is None else answer.text
        tell(answer.node, line, reason)

    ask(starter, nodes, words, seconds, fanout, heard, environment)


def _problem(text: str) -> str | None:
    try:
        data = parse_json(text.encode())
    except ValueError as problem:
        return str(problem)
    return problem_of(data)
