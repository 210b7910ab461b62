# SPDX-License-Identifier: BSD-3-Clause
"""How large the engine's wheel is with all that it needs, as pip downloads it: `./dev wheel` ends with an error where it is too large.

.venv/bin/python -m tools.wheel_sizes build/wheels
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

#: What the engine and what it needs may take, in bytes.
MOST = 25_000_000


def sizes(wheel: Path, folder: Path) -> dict[str, int]:
    """Bytes by the name of the file, of the wheel and of all that it needs here. Raises CalledProcessError where pip cannot get it."""
    words = ["-m", "pip", "download", "--disable-pip-version-check", "-q", "--only-binary", ":all:", "-d", str(folder)]
    subprocess.run([sys.executable, *words, str(wheel)], check=True)
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir())}


def told(found: dict[str, int], most: int = MOST) -> tuple[str, bool]:
    """A line for each file and their sum, and whether that is small enough."""
    total = sum(found.values())
    lines = [f"{size / 1e6:7.2f} MB  {name}" for name, size in found.items()]
    return "\n".join([*lines, f"{total / 1e6:7.2f} MB  together, to be at most {most / 1e6:g} MB"]), total <= most


def main() -> int:
    """Print the sizes; 1 where they are too large."""
    wheel = next(Path(sys.argv[1]).glob("nodewise-*.whl"))
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = sizes(wheel, Path(folder))
        except subprocess.CalledProcessError:
            print(
                "what the wheel needs cannot be downloaded here: its own size alone is held to the limit",
                file=sys.stderr,
            )
            found = {wheel.name: wheel.stat().st_size}
    text, small = told(found)
    print(text)
    return 0 if small else 1


if __name__ == "__main__":
    sys.exit(main())
