# SPDX-License-Identifier: BSD-3-Clause
"""Feed each native parser with what libFuzzer makes up, under the address and undefined-behaviour sanitizers.

    ./dev sanitize fuzz [request capture system machine places worker isolation greeting card ring frames] [--seconds 600] [--keep]

Each target runs for so many seconds, from native/fuzz/corpus/TARGET; an input that breaks one is kept below build/fuzz and
named. With --keep what it found worth keeping goes into that corpus, as few and as small as they can be.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "native/fuzz"
BUILD = ROOT / "build/fuzz"
#: The longest input by target; machines are described by long texts.
LONGEST = {"machine": 1 << 16, "capture": 1 << 15}
#: The largest file that a corpus in the repository keeps, and how many.
_KEPT_BYTES, _KEPT = 2000, 40
OPTIONS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def targets() -> list[str]:
    """All that there are, by the names of their files."""
    return sorted(path.stem for path in SOURCES.glob("*.cpp"))


def build(names: list[str]) -> None:
    """Compile them."""
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    configure += ["-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++", "-DNODEWISE_FUZZ=ON"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    made = [f"fuzz-{name}" for name in names]
    done = subprocess.run(
        ["cmake", "--build", str(BUILD), "--target", *made], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout[-6000:]}\nerror: the targets cannot be built")


def run(name: str, seconds: int, keep: bool) -> bool:
    """Run one; whether nothing was found."""
    found = BUILD / "found" / name
    work = BUILD / "corpus" / name
    corpus = SOURCES / "corpus" / name
    for folder in (found, work):
        folder.mkdir(parents=True, exist_ok=True)
    program = [str(BUILD / f"native/fuzz/fuzz-{name}"), f"-max_len={LONGEST.get(name, 4096)}", "-print_final_stats=1"]
    # a stuck input is a finding, too; a deeper stack of inputs than memory is not
    limits = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", f"-artifact_prefix={found}/"]
    done = subprocess.run(
        [*program, *limits, str(work), str(corpus)],
        env={**os.environ, **OPTIONS},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    stats = dict(line.split()[:2] for line in done.stderr.splitlines() if line.startswith("stat::"))
    executed = stats.get("stat::number_of_executed_units:", "no")
    if done.returncode:
        print(done.stderr[-6000:])
        names = ", ".join(str(path.relative_to(ROOT)) for path in sorted(found.iterdir()))
        print(f"{name}: FAILED after {executed} inputs: {names}; again: {program[0]} FILE")
        return False
    if keep:
        _keep(program, work, corpus)
    print(f"{name}: {executed} inputs in {seconds} s, nothing found", flush=True)
    return True


def _keep(program: list[str], work: Path, corpus: Path) -> None:
    """Add to the corpus the fewest small inputs that reach what was reached."""
    merged = BUILD / "merged"
    shutil.rmtree(merged, ignore_errors=True)
    shutil.copytree(corpus, merged)
    command = [*program, "-merge=1", str(merged), str(work)]
    subprocess.run(command, env={**os.environ, **OPTIONS}, capture_output=True, check=True)
    new = [p for p in merged.iterdir() if not (corpus / p.name).exists() and p.stat().st_size <= _KEPT_BYTES]
    room = max(0, _KEPT - len(list(corpus.iterdir())))
    for path in sorted(new, key=lambda p: (p.stat().st_size, p.name))[:room]:
        shutil.copy2(path, corpus / path.name)


def main(words: list[str]) -> int:
    """Run the targets that are named, or all; exit code 1 where one has found something."""
    parser = argparse.ArgumentParser(prog="./dev sanitize fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(targets())}; all without any")
    parser.add_argument("--seconds", type=int, default=600, help="how long each runs (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep in the corpus what reaches further")
    options = parser.parse_args(words)
    names = options.targets or targets()
    if unknown := [name for name in names if name not in targets()]:
        parser.error(f"no such target: {', '.join(unknown)}; there are {', '.join(targets())}")
    build(names)
    # each has its turn, whatever was found before
    failed = [name for name in names if not run(name, options.seconds, options.keep)]
    return 1 if failed else 0
