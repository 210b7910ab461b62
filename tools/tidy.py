# SPDX-License-Identifier: BSD-3-Clause
"""Run clang-tidy on the native sources, less those in which it found nothing and of which nothing has changed since.

What it says of a file follows from the file, what it includes, how it is compiled, the checks and clang-tidy itself: a hash
of all that is kept, for each file that is clean, in build/tidy/clean. What a file includes is told by the last build.

Reading the headers of the standard library is most of the work, so files that are compiled alike and have no name of their own
in common are looked at as one text. Where something is found in it, each of them is looked at by itself.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from tools.tidy_groups import how, one_text, together

ROOT = Path(__file__).parent.parent
#: Of the engine, and of the other distributions.
BUILDS = (ROOT / "build/Release", ROOT / "studies/build/Release", ROOT / "transport/build/Release")
FOLDER = ROOT / "build/tidy"
CLEAN = FOLDER / "clean"
#: The analyzer takes as long as all other checks together, and finds little that the compiler and the sanitizers do not; what Highway compiles
#: for each instruction set is one text. `--deep` leaves nothing out.
QUICK = ("--checks=-clang-analyzer-*", "--extra-arg=-DHWY_COMPILE_ONLY_STATIC")
TIDY = Path(sys.executable).with_name("clang-tidy")


def commands() -> dict[Path, list[tuple[str, str]]]:
    """By source, each object that is made of it, with the command."""
    found: dict[Path, list[tuple[str, str]]] = defaultdict(list)
    for build in BUILDS:
        for entry in json.loads((build / "compile_commands.json").read_text()):
            made = re.search(r" -o (\S+)", entry["command"])
            found[Path(entry["file"])].append((str(build / made[1]) if made else "", entry["command"]))
    return found


def included() -> dict[str, list[Path]]:
    """By object, the files that it was made of."""
    found: dict[str, list[Path]] = {}
    for build in BUILDS:
        asked = ["ninja", "-C", str(build), "-t", "deps"]
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        for block in told.split("\n\n"):
            head, _, rest = block.strip().partition("\n")
            if head.endswith("(VALID)"):
                found[str(build / head.partition(":")[0])] = [build / file.strip() for file in rest.splitlines()]
    return found


@cache
def digest(file: Path) -> str:
    """Of a file's content."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def fingerprint(tool: str, made: list[tuple[str, str]], files: dict[str, list[Path]]) -> str | None:
    """Of all that bears on what is found in a source; None where what it includes is not known."""
    if not made or any(name not in files for name, _ in made):
        return None
    parts = [tool]
    for name, command in sorted(made):
        parts += [command, *(f"{file} {digest(file)}" for file in files[name])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def main() -> int:
    """clang-tidy's exit code over all files: 0 where all are clean."""
    # clang looks for OpenMP's header beside itself; the compiler that builds has it
    FOLDER.mkdir(parents=True, exist_ok=True)
    header = FOLDER / "omp.h"
    header.unlink(missing_ok=True)
    asked = subprocess.run(["g++", "-print-file-name=include/omp.h"], capture_output=True, text=True, check=True)
    header.symlink_to(asked.stdout.strip())
    checks = () if "--deep" in sys.argv[1:] else QUICK
    words = [str(TIDY), "--quiet", f"--config-file={ROOT / '.clang-tidy'}", f"--extra-arg=-isystem{FOLDER}", *checks]
    version = subprocess.run([str(TIDY), "--version"], capture_output=True, text=True, check=True).stdout
    tool = "\n".join([version, *words, digest(ROOT / ".clang-tidy"), digest(header)])

    made, files = commands(), included()
    sources = sorted(
        p for folder in ("native", "src", "studies/nodewise_studies") for p in (ROOT / folder).rglob("*.cpp")
    )
    prints = {source: fingerprint(tool, made.get(source, []), files) for source in sources}
    clean = set(CLEAN.read_text().split()) if CLEAN.exists() else set()
    due = [source for source in sources if prints[source] not in clean]

    def check(sources: list[Path]) -> bool:
        if len(sources) > 1:
            text = one_text(sources)
            one = FOLDER / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.cpp"
            one.write_text(text)
            flags = [f"-iquote{sources[0].parent}", *shlex.split(how(made[sources[0]][0][1], sources[0]))[1:]]
            done = subprocess.run([*words, str(one), "--", *flags], capture_output=True, check=False)
            one.unlink()
            # what is wrong in one text is looked for in each
            return keep(sources) if done.returncode == 0 else not [s for s in sources if not check([s])]
        # of what several make the first one's; what none makes is looked at as the engine is made
        objects = [name for name, _ in made.get(sources[0], []) if name]
        build = next((b for b in BUILDS if any(Path(name).is_relative_to(b) for name in objects)), BUILDS[0])
        done = subprocess.run([*words, "-p", str(build), str(sources[0])], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return keep(sources)
        print(done.stdout + done.stderr, flush=True)
        faulty.append(sources[0])
        return False

    def keep(sources: list[Path]) -> bool:
        # at once: what was looked at before an interruption need not be again
        with CLEAN.open("a") as file:
            file.writelines(f"{now}\n" for source in sources if (now := prints[source]) is not None)
        return True

    faulty: list[Path] = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(check, together(due, made)))
    # those of earlier contents go
    CLEAN.write_text("".join(f"{now}\n" for source, now in prints.items() if now and source not in faulty))
    print(f"clang-tidy: {len(due)} of {len(sources)} files looked at, {len(faulty)} with faults")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
