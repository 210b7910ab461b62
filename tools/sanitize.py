# SPDX-License-Identifier: BSD-3-Clause
"""Build the native programs with each sanitizer and run the tests that start them.

    ./dev sanitize [address,undefined] [thread]

The thread sanitizer does not see into GCC's OpenMP runtime and takes its barriers for races, so under it the worker runs
with one thread: it covers the runner and what a study does outside parallel regions.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Tests of how much memory a run takes say nothing of instrumented programs.
LEFT_OUT = "not peak_memory and not flood"
THREAD_ONLY = " and not touched_first and not published and not trusted and not inputs_vary and not peers_are_right"
OPTIONS = {
    "address,undefined": {
        # exec replaces the image of the child that shares our memory, which the leak check takes for a leak; a worker says
        # by itself that there is no memory
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    },
    "thread": {"TSAN_OPTIONS": "halt_on_error=1:allocator_may_return_null=1", "OMP_NUM_THREADS": "1"},
}


def run(sanitizer: str) -> int:
    """Build, install beside the build, and test with it; pytest's exit code."""
    build = ROOT / "build" / f"sanitize-{sanitizer.replace(',', '-')}"
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(build), "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    subprocess.run([*configure, f"-DNODEWISE_SANITIZE={sanitizer}", "-DNODEWISE_BINDINGS=OFF"], check=True)
    subprocess.run(["cmake", "--build", str(build)], check=True)
    subprocess.run(["cmake", "--install", str(build), "--prefix", str(build / "install")], check=True)
    environment = {**os.environ, **OPTIONS[sanitizer], "NODEWISE_NATIVE": str(build / "install/nodewise/native")}
    chosen = LEFT_OUT + (THREAD_ONLY if sanitizer == "thread" else "")
    command = [sys.executable, "-m", "pytest", "-k", chosen, "tests/runner", "tests/studies"]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def main() -> int:
    """Run the sanitizers named, or all."""
    asked = sys.argv[1:] or list(OPTIONS)
    unknown = [name for name in asked if name not in OPTIONS]
    if unknown:
        print(
            f"error: no such sanitizer: {', '.join(unknown)}\n\nhint: there are {' and '.join(OPTIONS)}",
            file=sys.stderr,
        )
        return 2
    results = {name: run(name) for name in asked}
    for name, code in results.items():
        print(f"{name}: {'clean' if code == 0 else f'failed ({code})'}")
    return max(results.values())


sys.exit(main())
