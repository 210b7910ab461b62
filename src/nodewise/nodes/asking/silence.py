# SPDX-License-Identifier: BSD-3-Clause
"""Silence: what stands for a node that was asked for its snapshot and gave none."""

from __future__ import annotations

import json
import re
from typing import Any

from nodewise.nodes.snapshot import SNAPSHOT_VERSION

_NODE = re.compile(r"[\w.-]{1,64}")
_LONGEST_REASON = 1000


def silence(node: str, reason: str) -> str:
    """The line of JSON of a node that gave no answer, which stands where its snapshot would."""
    record = {"nodewise_snapshot": SNAPSHOT_VERSION, "node": node, "no_answer": reason or "it gave none"}
    return json.dumps(record, separators=(",", ":"))


def silence_of(data: Any) -> tuple[str, str] | None:
    """The node and the reason of what `silence` wrote; None where it is something else."""
    if not isinstance(data, dict) or data.keys() != {"nodewise_snapshot", "node", "no_answer"}:
        return None
    node, reason = data["node"], data["no_answer"]
    if not isinstance(node, str) or not _NODE.fullmatch(node) or not isinstance(reason, str):
        return None
    return node, reason[:_LONGEST_REASON]
