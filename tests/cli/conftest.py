# SPDX-License-Identifier: BSD-3-Clause
"""Black-box runs of the command line, and small programs to tune."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nodewise.cli.main import main
from tests.started import started

Command = Callable[..., subprocess.CompletedProcess[str]]

#: The noise of a pretended program's run `n`, which is always the same, so that a test ends as it did before; of twelve the sum is as good as
#: normal. Without a module that takes time to load: such a program is started hundreds of times.
NOISE = "noise = sum(math.sin(12.9898 * n + 78.233 * k) * 43758.5453 % 1 for k in range(12)) - 6"
#: A program on a machine that is not here: it reads its setting from the environment and says at once how long it takes.
#: It imports nothing that takes time.
PRETEND = """#!{python} -IS
import math, os
threads = int(os.environ.get("OMP_NUM_THREADS", "{processors}"))
places = []
for entry in os.environ.get("OMP_PLACES", "").replace("{{", "").replace("}}", "").split(","):
    first, n, step = (*map(int, entry.split(":")), 1, 1)[:3] if entry else (0, 0, 0)
    places += [first + i * step for i in range(n)]
cores = [p // {smt} for p in places] or [i % {cores} for i in range(threads)]
busy = {{c: cores.count(c) for c in set(cores)}}
smt = (1.0, 1.75, 2.4, 2.2)
slowest = min(smt[n - 1] / n for n in busy.values()) * (1.0 if places else 0.92)
near = sum(a == b for a, b in zip(cores, cores[1:])) / len(cores)
seconds = {formula}
state = __file__ + ".runs"
n = os.path.getsize(state) if os.path.exists(state) else 0
open(state, "a").write(".")
{noise}
print('{{"nodewise": 1, "seconds": %r, "verified": true}}' % (seconds * (1 + 0.008 * noise)))
"""


def on_any_machine(arguments: Sequence[str]) -> list[str]:
    """The words with which a test gets its answer on a busy machine, too; what such a one does to a verdict has other tests."""
    words = list(arguments)
    if words == ["study", "--json"] or "--result" in words:
        # nothing is measured
        return words
    if words[:1] in (["tune"], ["compare"], ["run"], ["study"]) and "--resume" not in words and len(words) > 1:
        words.insert(1, "--accept-disturbed")
    return words


@pytest.fixture
def nodewise(tmp_path: Path) -> Command:
    """Run the command line in a directory of its own, without variables that bear on threads."""

    def run(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        words = on_any_machine(arguments)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_"))}
        return started(*words, cwd=tmp_path, env=environment, timeout=timeout)

    return run


@pytest.fixture
def nodewise_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """The same within this process, which takes no time to start."""
    for name in [n for n in os.environ if n.startswith(("OMP_", "KMP_", "GOMP_"))]:
        monkeypatch.delenv(name)

    def run(*arguments: str, timeout: float = 60, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        del timeout
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["nodewise", *on_any_machine(arguments)])
        capfd.readouterr()
        code = main()
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, out, err)

    return run


@pytest.fixture
def pretend(tmp_path: Path) -> Callable[[str], str]:
    """Write the pretend program with a formula for its seconds; its path."""

    def write(formula: str, cores: int = 61, smt: int = 4) -> str:
        path = tmp_path / "pretend"
        names = {"python": sys.executable, "cores": cores, "smt": smt, "processors": cores * smt, "formula": formula}
        path.write_text(PRETEND.format(noise=NOISE, **names))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return write
