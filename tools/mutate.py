# SPDX-License-Identifier: BSD-3-Clause
"""Break lines of the code on purpose, a seeded sample of them, and say which the tests notice.

    ./dev mutate [MODULE…] [--seed N] [--count N] [--part K/N] [--jobs N] [--only TEXT]

A MODULE is a file or a folder of src/nodewise (`statistics`, `verdicts/pair.py`), or a source of nodewise-runner (`native/runner/conditions.cpp`);
without any it is each room by itself. A mutant lives in a process of its own, into which an importer puts the broken module, also in the programs that it starts; the checkout is never
written to, and cannot be where root asks. The tests of its layer that come by the broken function run, the file named after the
module first, and the first failure decides; one that hangs is noticed, too. What changes nothing that anyone could see
is named, with the reason, in tools/mutants-equivalent.txt and does not count.

mutmut breaks functions alone, in a copy of the tree that an editable install does not import; cosmic-ray writes into the
checkout and starts pytest afresh for each; mutatest is no longer kept. Hence this.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import native_mutants  # noqa: E402
from tools.mutant_tests import BROKEN, IMPORTER, MISSED, NOTES, SOURCES, Deadline, Tests, tests_of  # noqa: E402
from tools.mutants import Mutant, mutants_of  # noqa: E402

EQUIVALENT = Path(__file__).with_name("mutants-equivalent.txt")
#: Of these at least so large a share is to be noticed.
ROOMS = ("statistics", "verdicts", "search", "placement", "native/runner/conditions.cpp")
ENOUGH = 0.9
#: Numbers of these files were tuned on surfaces: with another it is another search, not a wrong one.
TUNED = ("search/",)
#: A mutant whose tests have not ended after so many seconds hangs where no test's own limit ends it.
_MOST_S = 300.0


@dataclass
class Job:
    """A mutant, its folder, until when it may run, and until when the test that it is at may."""

    mutant: Mutant
    folder: Path
    until: float
    deadline: Deadline


def sources(words: list[str]) -> list[Path]:
    """The files that are named, by a path from the sources or from here."""
    found: list[Path] = []
    for word in words:
        place = next((p for p in (SOURCES / word, ROOT / word, SOURCES / f"{word}.py") if p.exists()), None)
        if place is not None and place.is_relative_to(native_mutants.FOLDER):
            found += sorted(place.glob("*.cpp")) if place.is_dir() else [place]
        elif place is not None and place.is_relative_to(SOURCES):
            found += sorted(place.rglob("*.py")) if place.is_dir() else [place]
        else:
            sys.exit(f"error: {word} is no module of src/nodewise and no source of {native_mutants.PROGRAM}")
    return [p for p in dict.fromkeys(found) if not p.name.startswith("test_")]


def equivalents() -> dict[tuple[str, str, str], str]:
    """The reason, by file, function and change."""
    found = {}
    for line in EQUIVALENT.read_text().splitlines():
        if line and not line.startswith("#"):
            file, function, change, reason = line.split(" :: ")
            found[file, function, change] = reason
    return found


def key_of(mutant: Mutant) -> tuple[str, str, str]:
    """As it stands in the file of equivalents."""
    return str(mutant.path), mutant.function or "module", mutant.change


def sample(files: list[Path], seed: int, count: int, only: str = "", part: tuple[int, int] = (1, 1)) -> list[Mutant]:
    """So many mutants of those files, without those that are known to change nothing; of these every Nth from the Kth on."""
    known = equivalents()
    every = [
        m
        for file in files
        for m in (mutants_of(file, SOURCES) if file.suffix == ".py" else native_mutants.mutants_of(file))
    ]
    every = [m for m in every if not (m.kind == "number" and str(m.path).startswith(TUNED))]
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    kept = [m for m in chosen if key_of(m) not in known and only in told(m)]
    return sorted(kept, key=lambda m: (m.path, m.line))[part[0] - 1 :: part[1]]


def told(mutant: Mutant) -> str:
    """On one line."""
    top = "src/nodewise/" if mutant.path.suffix == ".py" else ""
    return f"{top}{mutant.path}:{mutant.line}: {mutant.function or 'module'}: {mutant.change}"


def kill(pid: int) -> None:
    """A process and all that is still in its session; some of that has a group of its own, such as a runner."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # behind the name: state, parent, group, session
            if int(stat.read_bytes().rpartition(b")")[2].split()[3]) == pid:
                os.kill(int(stat.parent.name), signal.SIGKILL)


def _last_words(folder: Path) -> str:
    """Which test noticed it; else how its output ends."""
    lines = (folder / "out").read_text(errors="replace").splitlines() or [""]
    return next((line for line in reversed(lines) if line.startswith(("FAILED", "ERROR"))), lines[-1])


def judge(chosen: list[Mutant], jobs: int, scratch: Path, verbose: bool = False) -> tuple[list[Mutant], list[Mutant]]:
    """Those that the tests notice, and those that they do not."""
    begun = time.monotonic()
    runner = Tests(scratch)
    bearing = {m.path: tests_of(m.path) for m in chosen}
    known, out = runner.unbroken(sorted({test for own, rest in bearing.values() for test in own + rest}))
    if known is None:
        sys.exit(f"error: the tests cannot be run:\n{out[-3000:]}")
    seconds = time.monotonic() - begun
    if known.failed:
        print(f"left out, as they fail unbroken: {', '.join(sorted(known.failed))}", flush=True)
    print(f"what the tests come by unbroken took {seconds:.0f} s to see", flush=True)
    running: dict[int, Job] = {}
    waiting = list(reversed(chosen))
    noticed: list[Mutant] = []
    missed: list[Mutant] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            pid, folder, deadline = runner.start(known, mutant)
            running[pid] = Job(mutant, folder, time.monotonic() + _MOST_S, deadline)
        pid, status = os.waitpid(-1, os.WNOHANG)
        for number, job in running.items():
            if time.monotonic() > job.until or job.deadline.over:
                kill(number)
        if pid not in running:
            time.sleep(0.02)
            continue
        job = running.pop(pid)
        kill(pid)
        code = os.waitstatus_to_exitcode(status)
        if code == BROKEN and job.mutant.path.suffix != ".py":
            print(f"refused by the compiler  {told(job.mutant)}", flush=True)
        elif code == MISSED:
            missed.append(job.mutant)
            print(f"missed  {told(job.mutant)}", flush=True)
        else:
            noticed.append(job.mutant)
            if verbose:
                print(f"noticed {told(job.mutant)}\n        {_last_words(job.folder)}", flush=True)
        if (done := len(noticed) + len(missed)) % 20 == 0:
            print(f"        {len(noticed)} of {done} noticed so far", flush=True)
        shutil.rmtree(job.folder, ignore_errors=True)
    return noticed, missed


def apart() -> None:
    """Go on where no mutant can harm others: no other process is seen from here, and for root the checkout cannot be
    written, less what is noted of its tests."""
    root = os.geteuid() == 0
    if os.environ.get("MUTATE_APART"):
        NOTES.mkdir(parents=True, exist_ok=True)
        for place, mode in ((str(ROOT), "ro"), (str(NOTES), "rw")) if root else ():
            subprocess.run(["mount", "--bind", place, place], check=True)
            subprocess.run(["mount", "-o", f"remount,bind,{mode}", place], check=True)
        return
    own = [] if root else ["--user", "--map-current-user"]
    command = ["unshare", *own, "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        sys.exit("error: a mutant may kill or remove anything, and unshare cannot keep it apart here")
    os.environ["MUTATE_APART"] = "1"
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


def rate(words: list[str], asked: argparse.Namespace) -> float:
    """The share of the sample that is noticed; printed with what is not."""
    begun = time.monotonic()
    chosen = sample(sources(words), asked.seed, asked.count, asked.only, asked.part)
    with tempfile.TemporaryDirectory(prefix="nodewise-mutate-") as name:
        scratch = Path(name)
        (scratch / "sitecustomize.py").write_text(IMPORTER)
        if any(m.path.suffix != ".py" for m in chosen):
            native_mutants.link(scratch / native_mutants.PROGRAM, {})
        paths = filter(None, (str(scratch), os.environ.get("PYTHONPATH")))
        sys.pycache_prefix = str(scratch / "pycache")
        # each mutant would compile all tests again
        sys.dont_write_bytecode = False
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ |= {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONPYCACHEPREFIX": sys.pycache_prefix,
            "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
        }
        noticed, missed = judge(chosen, asked.jobs, scratch, asked.verbose)
    every = len(noticed) + len(missed)
    share = len(noticed) / max(1, every)
    figures = f"{len(noticed)} of {every} noticed, {share:.1%}"
    print(f"{' '.join(words)}: {figures} (seed {asked.seed}, {time.monotonic() - begun:.0f} s)", flush=True)
    return share


def _part(text: str) -> tuple[int, int]:
    at, of = map(int, text.split("/"))
    if not 1 <= at <= of:
        raise ValueError(text)
    return at, of


def main() -> int:
    """Exit code 1 where less than ENOUGH is noticed."""
    parser = argparse.ArgumentParser(prog="./dev mutate", description="Break lines on purpose; do the tests notice?")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"default: {' '.join(ROOMS)}, each by itself")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    parser.add_argument("--count", type=int, default=200, help="of mutants (default 200)")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), metavar="K/N", help="of the sample each Nth from the Kth on"
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="so many at once (default 2)")
    parser.add_argument("--verbose", action="store_true", help="say of those that are noticed which test noticed them")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the sample those whose line holds it")
    asked = parser.parse_args()
    groups = [asked.modules] if asked.modules else [[room] for room in ROOMS]
    for words in groups:
        sources(words)
    apart()
    return int(min([rate(words, asked) for words in groups]) < ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
