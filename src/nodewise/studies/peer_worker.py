# SPDX-License-Identifier: BSD-3-Clause
"""Runs a study's Python peer once, in a process of its own, and prints the sample protocol.

    python -m nodewise.studies.peer_worker PEER.py [--available] [knob=value …]

A peer is a file with `available() -> str | None` (why it cannot run, or None), `prepare(point) -> state`, `run(state)`
(the timed part), `check(state) -> str | None` (what is wrong, or None) and `items(state) -> float`. It runs once to warm
up and once under the clock.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from nodewise.studies.contract import parse_knobs
from nodewise.studies.discovery import load_module


def main(words: list[str]) -> int:
    """Run the peer; exit code 1 where it is not available or its result is wrong."""
    peer = load_module(Path(words[0]), "nodewise_peer")
    reason = peer.available()
    if reason:
        print(reason)
        return 1
    if "--available" in words:
        return 0
    state = peer.prepare(parse_knobs(words[1:]))
    seconds = 0.0
    for _ in range(2):
        begin = time.perf_counter()
        peer.run(state)
        seconds = time.perf_counter() - begin
        wrong = peer.check(state)
        if wrong:
            print(f"wrong result: {wrong}", file=sys.stderr)
            print('{"nodewise": 1, "verified": false}')
            return 1
    print(json.dumps({"nodewise": 1, "seconds": seconds, "items": peer.items(state), "verified": True}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
