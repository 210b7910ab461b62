# SPDX-License-Identifier: BSD-3-Clause
"""Collecting snapshots: each as the line of JSON that `nodewise snapshot` prints, and of who gave none a line that says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from nodewise.base.bounded_json import parse_json
from nodewise.nodes.asking.ask import Answer, ask
from nodewise.nodes.asking.silence import silence
from nodewise.nodes.asking.starters import Starter
from nodewise.nodes.checked import problem_of
from nodewise.nodes.node_names import without_domain


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
    where that is a `silence`. A node has the name by which it was asked, whatever it calls itself, but for localhost. See `ask.ask`."""

    def heard(answer: Answer) -> None:
        line, reason = _line(answer)
        tell(answer.node, line, reason)

    ask(starter, nodes, words, seconds, fanout, heard, environment)


def _line(answer: Answer) -> tuple[str, str]:
    """The line of an answer, and why it is a silence where it is one."""
    reason = answer.reason
    if answer.text is not None:
        try:
            data = parse_json(answer.text.encode())
            reason = problem_of(data) or ""
        except ValueError as problem:
            reason = str(problem)
        if not reason:
            if without_domain(answer.node) in ("localhost", without_domain(data["node"])):
                return answer.text, ""
            return json.dumps({**data, "node": answer.node}, separators=(",", ":")), ""
    return silence(answer.node, reason), reason
