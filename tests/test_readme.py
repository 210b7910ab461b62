# SPDX-License-Identifier: BSD-3-Clause
"""The commands of the README and of the pages that it names, as they are written there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks._check.fleets import regular
from nodewise.base.exit_codes import ExitCode
from tests.started import started
from tests.verdicts.cases import Runs, compared

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
#: Pages whose commands stand by themselves; those of tests/test_docs.py are followed from the first to the last.
PAGES = ("check", "commands", "compare", "history", "place", "serve", "study")
LINES = [line for name in PAGES for line in (ROOT / f"docs/{name}.md").read_text().splitlines()]
#: What reaches other nodes; that their options are right is seen in tests/test_docs.py, what they do in tests/nodes.
NODES = re.compile(r"--hosts|--submit=|@job|\bssh\b")
COMMANDS = sorted(
    {
        line.split("  #")[0].strip()
        for line in [*TEXT.splitlines(), *LINES]
        if line.startswith("    nodewise ") and not NODES.search(line)
    }
)
#: Hands in what it is given, and says its number.
SBATCH = "#!/bin/sh\ncat >job.sh\necho 7\n"
#: The site's file is the one that the page shows.
SITE = (ROOT / "docs/check.md").read_text().partition("```toml\n")[2].partition("```")[0]
#: What a page shows of a history that is older than this one's.
EARLIER = {"diff 12 17": "diff tuned/n1 tuned/n2", "solver --since 30d --machine node7": "solver --since 30d"}
#: Says how long it takes; with MODE=fast half as long.
SOLVER = """#!/bin/sh
test "$MODE" = fast && seconds=0.75123 || seconds=1.50321
echo "{\\"nodewise\\": 1, \\"seconds\\": $seconds, \\"verified\\": true}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("readme")
    (made / "solver").write_text(SOLVER)
    (made / "solver").chmod(0o755)
    (made / "input.dat").write_text("")
    (made / "snapshots").mkdir()
    for node in regular(5, 1):
        (made / f"snapshots/{node['node']}.json").write_text(json.dumps({**node, "taken": time.time()}))
    (made / "nodewise.toml").write_text('[command.nap]\nrun = "sleep 0.02"\nruns = 6\n')
    for node in ("n1", "n2"):
        compared(made / "tuned" / node, {"./solver": Runs(1.0)})
    # each command works by itself, whatever ran before
    compared(made / "nodewise-experiments/earlier", {"./solver": Runs(1.0)})
    (made / "bin").mkdir()
    (made / "bin/sbatch").write_text(SBATCH)
    (made / "bin/sbatch").chmod(0o755)
    shutil.copytree(made / "snapshots", made / "last-good")
    (made / "site.toml").write_text(SITE)
    shutil.copyfile(ROOT / "tests/history/results/hyperfine.json", made / "results.json")
    shutil.copyfile(ROOT / "examples/pipeline/readout.toml", made / "readout.toml")
    (made / "solver.c").write_text("void add(float* a, int n) { for (int i = 0; i < n; ++i) a[i] += 1; }\n")
    # what is confirmed: the solver of the README has nothing to gain, and on a busy machine its tune would be undecided
    words = ("--accept-disturbed", "--axes", "MODE", "--env-axis", "MODE=fast", "--max-runs", "60", "--out", "kept")
    tuned = _started(made, "nodewise", "tune", *words, "--", "./solver", "input.dat")
    assert "best      MODE=fast" in tuned.stdout, tuned.stdout + tuned.stderr
    return made


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    own = _variables(folder)
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False, timeout=900, env=own)


def _started(folder: Path, nodewise: str, *words: str) -> subprocess.CompletedProcess[str]:
    assert nodewise == "nodewise"
    return started(*words, cwd=folder, env=_variables(folder), timeout=900)


def _variables(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "NODEWISE_HISTORY": str(folder / "history.sqlite")}


#: What ends the commands sooner that run for a minute or two.
SOONER = {
    "nodewise tune ": "nodewise tune --max-runs 20 ",
    "nodewise compare ": "nodewise compare --max-runs 8 ",
    "nodewise quiet": "nodewise quiet --seconds 0.5",
    "study is --class A ": "study is --class S --budget 30s --blocks 6 ",
}

#: What takes long however it is asked.
LONG = ("--roofline", "nodewise governors --quick")


def _sooner(command: str) -> str:
    for written, shorter in SOONER.items():
        command = command.replace(written, shorter)
    return command


# a roofline runs all studies, and governors are compared workload by workload
@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=() if c in TEXT else pytest.mark.long) for c in COMMANDS if not c.endswith(LONG)],
)
def test_a_command_of_the_readme_works(command: str, folder: Path) -> None:
    """In a process that has loaded nodewise; a start of its own is for the long tests."""
    _works(folder, _sooner(command), _started)


@pytest.mark.long
@pytest.mark.parametrize("command", [c for c in COMMANDS if _sooner(c) != c or c.endswith(LONG)])
def test_a_command_of_the_readme_works_as_written(command: str, folder: Path) -> None:
    _works(folder, command, _run)


def _works(folder: Path, command: str, run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    if command.startswith("nodewise serve"):
        _serves(folder)
        return
    for shown, there in EARLIER.items():
        command = command.replace(shown, there)
    done = run(folder, *("kept" if word == "DIR" else word for word in shlex.split(command)))
    if done.returncode == ExitCode.MISSING:
        pytest.skip(done.stderr)
    # a check may find something of this machine
    found = (0, 1) if command.startswith("nodewise check") else (0,)
    assert done.returncode in found, done.stdout + done.stderr
    assert done.stdout


def _serves(folder: Path) -> None:
    """It goes on until it is asked to end; no browser is opened."""
    with subprocess.Popen(
        [sys.executable, "-m", "nodewise", "serve", "--store", "h.sqlite"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    ) as process:
        assert process.stdout is not None and "http://127.0.0.1:" in process.stdout.readline()
        process.terminate()
        assert process.wait(20) == 0


def test_every_command_is_shown() -> None:
    shown = {shlex.split(c)[1] for c in COMMANDS}
    assert shown == {p.stem for p in (ROOT / "src/nodewise/cli/commands").glob("[!_]*.py")}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\./dev (\w+)", TEXT))))
def test_dev_knows_what_the_readme_says(name: str) -> None:
    script = (ROOT / "dev").read_text()
    assert re.search(rf"^{name}( \||\))", script, re.MULTILINE)


def test_dev_without_a_command_says_what_there_is() -> None:
    done = subprocess.run([ROOT / "dev"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: ./dev" in done.stderr
    assert subprocess.run(["bash", "-n", ROOT / "dev"], check=False).returncode == 0


def test_ci_calls_what_the_readme_says() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert "./dev lint" in script and "./dev test" in script
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_links_and_pictures_are_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
