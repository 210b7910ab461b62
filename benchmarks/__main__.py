# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks [NAME[:PART,…]…]`: run the benchmarks, all or those named, or parts of one: `studies:is,dgemm`.

One that is named alone may take options of its own: `search --seeds 200`. `real`, which installs programs and takes an
hour, must be named.
"""

import importlib
import sys
from pathlib import Path

from nodewise.base.errors import InputError

_ALONE = "real"


def main() -> int:
    """Run them one after another; exit code 2 for a name that is none."""
    known = sorted(p.stem for p in Path(__file__).parent.glob("[!_]*.py"))
    words = sys.argv[1:]
    if words[1:] and words[1].startswith("--"):
        asked, options = words[:1], words[1:]
    else:
        asked, options = words or [name for name in known if name != _ALONE], []
    unknown = [name for name in asked if name.partition(":")[0] not in known]
    if unknown:
        print(f"error: no such benchmark: {', '.join(unknown)}\n\nhint: there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in asked:
        print(f"== {name}")
        module, _, parts = name.partition(":")
        try:
            importlib.import_module(f"benchmarks.{module}").main(*filter(None, parts.split(",")), *options)
        except InputError as problem:
            print(f"error: {problem}", file=sys.stderr)
            return 2
    return 0


sys.exit(main())
