# SPDX-License-Identifier: BSD-3-Clause
"""Build the native programs with each sanitizer and run the tests that start them.

    ./dev sanitize [address,undefined] [thread]
    ./dev sanitize fuzz [TARGET…] [--seconds 600]     (tools/fuzz.py)

The thread sanitizer does not see into GCC's OpenMP runtime and takes its barriers for races. So for it the studies are
built by Clang, whose runtime tells what waits for what through Archer (Atzeni et al., IPDPS 2016), which LLVM comes with.
The runner, which has no OpenMP, stays with GCC: LLVM 14's sanitizer gives up where a child shares our memory.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import fuzz

ROOT = Path(__file__).parent.parent
OPTIONS = {
    # exec replaces the image of the child that shares our memory, which the leak check takes for a leak; a worker says
    # by itself that there is no memory
    "address,undefined": {
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    },
    # libraries that are not instrumented would show half of what they do
    "thread": {"TSAN_OPTIONS": "halt_on_error=1:allocator_may_return_null=1:ignore_noninstrumented_modules=1"},
}


@dataclass(frozen=True)
class Suite:
    """Tests of what one compiler built; those of how much memory a run takes say nothing of instrumented programs."""

    compiler: str
    tests: tuple[str, ...]
    chosen: str = "not peak_memory and not flood"


SUITES = {
    "address,undefined": (Suite("g++", ("tests/runner", "tests/studies", "tests/transport/test_transport.py")),),
    "thread": (
        Suite(
            "g++",
            ("tests/runner", "tests/transport/test_transport.py"),
            "not peak_memory and not flood and not touched_first",
        ),
        Suite("clang++", ("tests/studies",)),
    ),
}


def archer() -> str:
    """Where Clang has its tool for the thread sanitizer."""
    asked = subprocess.run(["clang++", "-print-file-name=libarcher.so"], capture_output=True, text=True, check=True)
    if not Path(asked.stdout.strip()).is_file():
        raise SystemExit("error: Clang has no libarcher.so\n\nhint: install LLVM's OpenMP: apt-get install libomp-dev")
    return asked.stdout.strip()


def install(source: Path, build: Path, prefix: Path, *options: str) -> None:
    """Build one of the two distributions, and install it below `prefix`."""
    configure = ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(build), "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    subprocess.run([*configure, *options], check=True)
    subprocess.run(["cmake", "--build", str(build)], check=True)
    subprocess.run(["cmake", "--install", str(build), "--prefix", str(prefix)], check=True)


def run(sanitizer: str, suite: Suite) -> int:
    """Build, install beside the build, and test with it; pytest's exit code."""
    build = ROOT / "build" / f"sanitize-{sanitizer.replace(',', '-')}-{suite.compiler}"
    needs = {"OMP_TOOL_LIBRARIES": archer()} if suite.compiler == "clang++" else {}
    options = [f"-DCMAKE_CXX_COMPILER={suite.compiler}", f"-DNODEWISE_SANITIZE={sanitizer}"]
    install(ROOT, build, build / "install", *options, "-DNODEWISE_BINDINGS=OFF")
    native = build / "install/nodewise/native"
    outside = [f"-DNODEWISE_OUTSIDE={native / 'outside'}", "-DNODEWISE_DESTINATION=nodewise/native/studies"]
    install(ROOT / "studies", build / "studies", build / "install", *options, *outside)
    environment = {**os.environ, **OPTIONS[sanitizer], **needs, "NODEWISE_NATIVE": str(native)}
    environment["NODEWISE_SANITIZED"] = sanitizer
    command = [sys.executable, "-m", "pytest", "-k", suite.chosen, *suite.tests]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def main() -> int:
    """Run the sanitizers named, or all."""
    if sys.argv[1:2] == ["fuzz"]:
        return fuzz.main(sys.argv[2:])
    asked = sys.argv[1:] or list(OPTIONS)
    unknown = [name for name in asked if name not in OPTIONS]
    if unknown:
        print(
            f"error: no such sanitizer: {', '.join(unknown)}\n\nhint: there are {' and '.join(OPTIONS)}",
            file=sys.stderr,
        )
        return 2
    results = {name: max(run(name, suite) for suite in SUITES[name]) for name in asked}
    for name, code in results.items():
        print(f"{name}: {'clean' if code == 0 else f'failed ({code})'}")
    return max(results.values())


sys.exit(main())
