# SPDX-License-Identifier: BSD-3-Clause
"""Compile the studies for processors that are not here, and run them emulated on 64-bit Arm.

    ./dev cross [STUDY …]

Every study's C++ is compiled for 64-bit Arm, as its build there would, and the files for an instruction set of x86 for
that. Then the worker and each study are linked and run under QEMU: every variant at every test point, where the study's
own check judges it. Highway's library for Arm is fetched as a package and unpacked below build/cross; nothing is installed.
Times mean nothing. Exit code 1 where something does not compile or is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nodewise.studies.contract import Study
from nodewise.studies.discovery import find_study, study_names
from tools import arm_packages

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "cross"
PREFIX = "aarch64-linux-gnu"
COMPILER = f"{PREFIX}-g++"
EMULATOR = "qemu-aarch64-static"
#: What cmake/study.cmake gives to the parts of a file's name.
SETS = {
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"],
}
#: An emulated run of a small test point takes well below a second.
LIMIT_S = 120


def say(name: str, what: str, fault: str = "") -> bool:
    """One line for a thing that was tried, what is wrong with it below; whether it is right."""
    print(f"{name:<58} {what}", flush=True)
    for line in fault.strip().splitlines()[:12]:
        print(f"    {line}")
    return not fault


def tried(command: Sequence[str | Path], cwd: Path | None = None, timeout: float | None = None) -> str:
    """What a command says where it fails; empty where it does not."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, timeout=timeout)
    return "" if done.returncode == 0 else (done.stderr + done.stdout).strip() or f"exit code {done.returncode}"


def fetch_highway() -> Path | None:
    """The folder of Highway's library for Arm, from the distribution's package; None where it has none for Arm."""
    library = FOLDER / "highway" / "usr" / "lib" / PREFIX
    if list(library.glob("libhwy.so.1*")):
        return library
    if arm_packages.fetch(("libhwy-dev", "libhwy1"), FOLDER / "highway"):
        return None
    return library


def headers() -> Path:
    """A folder with the headers that need no library: those of this system's own C library must not be found."""
    folder = FOLDER / "include"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("hwy", "nlohmann"):
        link = folder / name
        if not link.exists() and Path("/usr/include", name).is_dir():
            link.symlink_to(Path("/usr/include", name))
    return folder


def flags(source: Path, machine: str) -> list[str] | None:
    """What a study's file is compiled with on such a machine; None where it is not for it."""
    chosen = ["-O3"]
    for part in source.stem.split(".")[1:]:
        if part in SETS:
            if machine != "x86":
                return None
            chosen += SETS[part]
        elif part == "neon" and machine != "arm":
            return None
        elif part.startswith("O"):
            chosen.append(f"-{part}")
        elif part == "fast":
            chosen.append("-ffast-math")
    return chosen


def compile_file(source: Path, into: Path, machine: str, own: Sequence[str], includes: Sequence[Path]) -> str:
    """Compile one file for `arm` or `x86`; what the compiler says against it."""
    into.parent.mkdir(parents=True, exist_ok=True)
    common = ["-std=c++20", "-fPIC", "-fopenmp", f"-I{ROOT / 'native'}", *(f"-I{folder}" for folder in includes)]
    compiler = [COMPILER, "-isystem", str(headers())] if machine == "arm" else ["g++"]
    return tried([*compiler, *common, *own, "-c", source, "-o", into])


def compile_study(folder: Path) -> Iterator[tuple[str, str, str]]:
    """File, machine and fault of every file of a study, for Arm, and for x86 where it is for one of its sets."""
    jobs = []
    for source in sorted(folder.glob("*.cpp")):
        for machine in ("arm", "x86"):
            own = flags(source, machine)
            if own is not None and (machine == "arm" or set(source.stem.split(".")) & SETS.keys()):
                jobs.append((source, machine, own))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = pool.map(
            lambda job: compile_file(
                job[0], FOLDER / job[1] / folder.name / f"{job[0].name}.o", job[1], job[2], [folder]
            ),
            jobs,
        )
        for (source, machine, _), fault in zip(jobs, faults, strict=True):
            yield f"{folder.name}/{source.name}", machine, fault


def link_worker() -> tuple[Path, str]:
    """The worker for Arm, and what is wrong with it."""
    worker = FOLDER / "arm" / "nodewise-worker"
    sources = sorted((ROOT / "native" / "worker").glob("*.cpp"))
    words: list[str | Path] = [COMPILER, "-isystem", headers(), "-std=c++20", "-O2", "-fopenmp", f"-I{ROOT / 'native'}"]
    return worker, tried([*words, *sources, "-ldl", "-o", worker])


def link_study(folder: Path, highway: Path | None) -> tuple[Path, str]:
    """A study's shared object for Arm from its compiled files, and what is wrong with it."""
    objects = FOLDER / "arm" / folder.name
    binary = FOLDER / "arm" / f"{folder.name}.so"
    files: list[str | Path] = [
        objects / f"{s.name}.o" for s in sorted(folder.glob("*.cpp")) if flags(s, "arm") is not None
    ]
    if uses_highway(folder):
        files += [ROOT / "native" / "simd" / "choose.cpp", "-isystem", headers(), f"-L{highway}", "-lhwy"]
    return binary, tried([COMPILER, "-std=c++20", "-O2", "-shared", "-fPIC", "-fopenmp", *files, "-o", binary])


def uses_highway(folder: Path) -> bool:
    """Whether a study has to be linked with Highway."""
    return any("hwy/highway.h" in source.read_text() for source in folder.glob("*.cpp"))


def run_study(study: Study, worker: Path, binary: Path, highway: Path | None) -> Iterator[tuple[str, str]]:
    """Each of the study's own variants, and what is wrong with it at the first test point where something is."""
    libraries = [str(highway)] if highway else []
    emulated = [EMULATOR, "-L", f"/usr/{PREFIX}", "-E", f"LD_LIBRARY_PATH={':'.join(libraries)}", str(worker)]
    told = subprocess.run([*emulated, binary, "--list"], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        yield "the list of variants", told.stderr.strip()
        return
    for variant in json.loads(told.stdout)["variants"]:
        if variant["kind"] != "variant" or variant["missing"]:
            continue
        fault = ""
        for point in study.test_points:
            words = [f"{knob}={value}" for knob, value in study.point(point).items()]
            command = [*emulated, str(binary), "--variant", variant["name"], "--threads", "2", *words]
            try:
                fault = tried(command, timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                fault = f"not done after {LIMIT_S} s"
            if fault:
                fault = f"{dict(point)}: {fault}"
                break
        yield variant["name"], fault


def emulate(names: Sequence[str], compiled: set[str]) -> bool:
    """Link and run the studies that compiled; whether all are right."""
    highway = fetch_highway()
    worker, fault = link_worker()
    good = say("worker", "links for Arm" if not fault else "does not link for Arm", fault)
    if not good:
        return False
    for name in names:
        found = find_study(name)
        if name not in compiled:
            continue
        if highway is None and uses_highway(found.folder):
            say(name, "not run: this distribution's sources have no package libhwy-dev for Arm")
            continue
        binary, fault = link_study(found.folder, highway)
        if fault:
            good = say(name, "does not link for Arm", fault)
            continue
        for variant, wrong in run_study(found.study, worker, binary, highway):
            good &= say(f"{name} {variant}", "right on emulated Arm" if not wrong else "WRONG on emulated Arm", wrong)
    return good


def main() -> int:
    """Compile, link, run; the exit code."""
    asked = argparse.ArgumentParser(prog="./dev cross", description="compile and run studies for other processors")
    asked.add_argument("study", nargs="*", help="which studies (all)")
    names = asked.parse_args().study or study_names()
    if platform.machine() != "x86_64":
        print("error: this is not x86: its own tests say what runs here", file=sys.stderr)
        return 2
    unknown = [name for name in names if name not in study_names()]
    if unknown:
        print(
            f"error: no such study: {', '.join(unknown)}\n\nhint: there are {', '.join(study_names())}", file=sys.stderr
        )
        return 2
    compiled = set(names)
    for name in names:
        for file, machine, fault in compile_study(find_study(name).folder):
            say(file, f"{'does not compile' if fault else 'compiles'} for {machine}", fault)
            if fault:
                compiled.discard(name)
    good = emulate(names, compiled)
    return 0 if good and len(compiled) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
