# SPDX-License-Identifier: BSD-3-Clause
"""Ask the real runtimes, and the models of them, where they put threads, for machines and settings made up at random.

    .venv/bin/python tools/placements.py gnu|intel|llvm [--nested] [--cases 2000] [--seed 0] [--record FILE [--every 10]]

With --nested threads have inner teams. Says how many of how many agree and shows those that do not; --record writes every Nth case with the runtime's answer, one
a line, as tests/placement/recorded has them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.placement.runtimes import asked


def main() -> int:
    """Run the campaign; exit code 1 where any case differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runtime", choices=sorted(asked.RUNTIMES))
    parser.add_argument("--nested", action="store_true", help="two or three levels of teams")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--every", type=int, default=10)
    options = parser.parse_args()
    dice = random.Random(f"{options.runtime} {options.seed}")
    agreed = refused = shown = unanswered = misread = 0
    kept: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.cases):
            case = asked.made_up_case(options.runtime, dice, options.nested)
            real, warned = asked.real(options.runtime, Path(folder), case)
            mine, why = asked.modelled(options.runtime, case)
            if mine is not None and asked.unanswered(real, warned):
                unanswered += 1
                continue
            same = asked.agrees(mine, real, warned)
            if not same and asked.misread(mine, real, why):
                misread += 1
                continue
            agreed += same
            refused += mine is None
            if not same and shown < options.show:
                shown += 1
                print(
                    json.dumps({**case.to_json(), "real": real, "modelled": mine, "why": why, "warned": warned[:300]})
                )
            if options.record is not None and number % options.every == 0:
                kept.append({**case.to_json(), "places": real, "warned": bool(warned)})
    if options.record is not None:
        options.record.write_text("".join(json.dumps(case) + "\n" for case in kept))
    asked_of = options.cases - unanswered - misread
    refusals = f"{refused} of those refused where the runtime warns or ends"
    print(
        f"{options.runtime}: {agreed} of {asked_of} agree ({refusals}); {unanswered} without an answer, "
        f"{misread} spelt wrong that the runtime reads in part without a word, and nodewise refuses"
    )
    return int(agreed < asked_of)


if __name__ == "__main__":
    sys.exit(main())
