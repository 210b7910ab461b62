# SPDX-License-Identifier: BSD-3-Clause
"""Build the native programs with each sanitizer and run the tests that start them.

    ./dev sanitize [address,undefined] [thread]

The thread sanitizer does not see into GCC's OpenMP runtime and takes its barriers for races. So for it all is built by Clang,
whose runtime tells what waits for what through Archer (Atzeni et al., IPDPS 2016), which LLVM comes with.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Tests of how much memory a run takes say nothing of instrumented programs.
LEFT_OUT = "not peak_memory and not flood"
OPTIONS = {
    "address,undefined": {
        # exec replaces the image of the child that shares our memory, which the leak check takes for a leak; a worker says
        # by itself that there is no memory
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    },
    "thread": {
        # libraries that are not instrumented would show half of what they do
        "TSAN_OPTIONS": "halt_on_error=1:allocator_may_return_null=1:ignore_noninstrumented_modules=1",
    },
}


def compiler_of(sanitizer: str) -> tuple[list[str], dict[str, str]]:
    """What CMake is told of the compiler, and the environment of what it builds."""
    if sanitizer != "thread":
        return [], {}
    asked = subprocess.run(["clang++", "-print-file-name=libarcher.so"], capture_output=True, text=True, check=True)
    archer = asked.stdout.strip()
    if not Path(archer).is_file():
        raise SystemExit("error: Clang has no libarcher.so\n\nhint: install LLVM's OpenMP: apt-get install libomp-dev")
    return ["-DCMAKE_CXX_COMPILER=clang++"], {"OMP_TOOL_LIBRARIES": archer}


def run(sanitizer: str) -> int:
    """Build, install beside the build, and test with it; pytest's exit code."""
    build = ROOT / "build" / f"sanitize-{sanitizer.replace(',', '-')}"
    compiler, needs = compiler_of(sanitizer)
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(build), "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    configure += [f"-DNODEWISE_SANITIZE={sanitizer}", "-DNODEWISE_BINDINGS=OFF", *compiler]
    subprocess.run(configure, check=True)
    subprocess.run(["cmake", "--build", str(build)], check=True)
    subprocess.run(["cmake", "--install", str(build), "--prefix", str(build / "install")], check=True)
    native = {"NODEWISE_NATIVE": str(build / "install/nodewise/native")}
    environment = {**os.environ, **OPTIONS[sanitizer], **needs, **native}
    command = [sys.executable, "-m", "pytest", "-k", LEFT_OUT, "tests/runner", "tests/studies"]
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
