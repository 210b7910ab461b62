# SPDX-License-Identifier: BSD-3-Clause
"""The engine's wheel for 64-bit Arm, compiled on another machine and tried there under emulation.

.venv/bin/python -m tools.arm_wheel build/wheels/aarch64         makes it (g++-aarch64-linux-gnu)
.venv/bin/python -m tools.arm_wheel --try build/wheels/aarch64   installs it in a root of its own and runs it (qemu-user-static)

Headers and libraries for Arm are the distribution's packages, unpacked below build/cross and not installed. auditwheel puts
in what is linked and gives the tag of the glibc that is needed. The root in which it is tried has Python and no compiler; it sees this machine's processors.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile

from tools import arm_packages

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/cross/wheel"
MACHINE = "aarch64"
TRIPLET = f"{MACHINE}-linux-gnu"
EMULATOR = "qemu-aarch64-static"
#: The newest glibc that a wheel may ask for: Debian 12's.
GLIBC = (2, 36)
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
#: What it is compiled with, beside the C and C++ library of the cross compiler.
LINKED = (
    "libhwloc-dev",
    "libhwloc15",
    "libudev1",
    "libhwy-dev",
    "libhwy1",
    "nlohmann-json3-dev",
    f"libpython{_PYTHON}-dev",
)
#: What the root has in which it is tried: Python with its standard library, a shell and small programs.
TRIED_IN = (
    *("libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libexpat1", "libffi8", "libssl3", "libbz2-1.0", "liblzma5"),
    *(
        "libsqlite3-0",
        "libuuid1",
        f"libpython{_PYTHON}-minimal",
        f"libpython{_PYTHON}-stdlib",
        f"python{_PYTHON}-minimal",
    ),
    *("coreutils", "libselinux1", "libpcre2-8-0", "libacl1", "libattr1", "libgmp10", "dash"),
)
#: What is run there, each with words that have to be in what it prints.
STEPS = {
    "nodewise --version": "nodewise, version ",
    "nodewise machine": "hardware thread",
    "nodewise place compact --threads 1": "OMP_PLACES=",
    "nodewise place scatter --threads 4 --machine 'synthetic:core:4 pu:1'": "OMP_NUM_THREADS=4",
    "nodewise run --runs 3 -- true": "report    ",
}
#: How the kernel knows a program for Arm: its ELF header, and which of its bits count.
_MAGIC = (
    r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00",
    r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff",
)


class AbsentError(RuntimeError):
    """Packages that this system's sources do not have."""


def missing(trying: bool = False) -> str:
    """What this machine lacks for making it, or for `trying` it, in words; empty where nothing is."""
    if platform.machine() == MACHINE:
        return "this is 64-bit Arm: its own wheel is the one"
    needed = {EMULATOR: "qemu-user-static"} if trying else {f"{TRIPLET}-g++": f"g++-{TRIPLET}"}
    needed |= {"apt-get": "apt", "dpkg-deb": "dpkg"}
    lacking = [package for program, package in needed.items() if shutil.which(program) is None]
    return f"not installed here: {', '.join(lacking)}" if lacking else ""


def make(into: Path) -> Path:
    """Compile the wheel; its path. Raises CalledProcessError, and RuntimeError where packages or symbols are not what they should be."""
    linked = BUILD / "linked"
    if why := arm_packages.fetch(LINKED, linked):
        raise AbsentError(why)
    library = linked / "usr/lib" / TRIPLET
    soabi = f"cpython-{sys.version_info.major}{sys.version_info.minor}-{TRIPLET}"
    environment = os.environ | {
        "NODEWISE_ARM_ROOT": str(linked),
        "CMAKE_ARGS": f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/{MACHINE}.cmake -DNODEWISE_TRANSPORT_REMOTE=OFF"
        f" -DPython_INCLUDE_DIR={linked}/usr/include/python{_PYTHON} -DPython_EXECUTABLE={sys.executable}",
        # whom the wheel is for, and how Python there calls its extensions
        "_PYTHON_HOST_PLATFORM": f"linux-{MACHINE}",
        "SETUPTOOLS_EXT_SUFFIX": f".{soabi}.so",
    }
    plain = BUILD / "plain"
    shutil.rmtree(plain, ignore_errors=True)
    words = [
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "-C",
        f"build-dir={BUILD / 'objects'}",
        "-o",
        str(plain),
        str(ROOT),
    ]
    subprocess.run([sys.executable, *words], check=True, env=environment)
    shutil.rmtree(into, ignore_errors=True)
    # it looks for libraries where it is told, and not where this machine's are
    repair = [
        sys.executable,
        "-m",
        "auditwheel",
        "repair",
        "--ldpaths",
        f"{library}:/usr/{TRIPLET}/lib",
        "-w",
        str(into),
    ]
    found = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run([*repair, *map(str, plain.glob("*.whl"))], check=True, env=os.environ | found)
    wheel = next(into.glob("*.whl"))
    if faults := strangers(wheel):
        raise RuntimeError("\n".join(faults))
    return wheel


def strangers(wheel: Path) -> list[str]:
    """What in a wheel is for another processor, needs a newer glibc, or a library that is neither in it nor the system's; a sentence for each."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        ZipFile(wheel).extractall(folder)
        files = [p for p in Path(folder).rglob("*") if p.is_file() and p.open("rb").read(4) == b"\x7fELF"]
        inside = {p.name for p in files}
        for path in files:
            told = subprocess.run(["readelf", "-hdVW", path], capture_output=True, text=True, check=True).stdout
            faults += [f"{path.name}: {fault}" for fault in _faults(told, inside)]
    return faults if files else ["nothing native is in it"]


def _faults(told: str, inside: set[str]) -> list[str]:
    """What is wrong with a file of which readelf says so; `inside` are the libraries of the wheel."""
    faults = [] if "AArch64" in told else ["it is for another processor"]
    for word in set(told.replace("(", " ").replace(")", " ").split()):
        version = word.removeprefix("GLIBC_")
        if word != version and version[0].isdigit() and tuple(map(int, version.split("."))) > GLIBC:
            faults.append(f"it needs glibc {version}")
    needed = [line.partition("[")[2].rstrip("]") for line in told.splitlines() if "(NEEDED)" in line]
    system = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libstdc++.so", "libgcc_s.so", "ld-linux-")
    return faults + [
        f"it needs {name}, which is not in the wheel"
        for name in needed
        if name not in inside and not name.startswith(system)
    ]


def root_with(wheel: Path, root: Path) -> None:
    """A root for Arm with the wheel and what it needs installed by pip, whose tags decide whether it fits. Raises CalledProcessError, RuntimeError."""
    if why := arm_packages.fetch(TRIED_IN, BUILD / "base"):
        raise AbsentError(why)
    subprocess.run(["cp", "-a", "--reflink=auto", f"{BUILD / 'base'}/.", str(root)], check=True)
    # usrmerge: Debian's packages still hold some files in these folders
    for name in ("bin", "lib", "sbin"):
        own = root / name
        if own.is_dir() and not own.is_symlink():
            shutil.copytree(own, root / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(own)
        own.symlink_to(f"usr/{name}")
    for name in ("proc", "sys", "dev", "tmp"):
        (root / name).mkdir(exist_ok=True)
    (root / "usr/bin/python3").symlink_to(f"python{_PYTHON}")
    (root / "usr/bin/sh").exists() or (root / "usr/bin/sh").symlink_to("dash")
    # pip takes of a platform that is named its own tag alone
    wanted = [f"--platform=manylinux_{GLIBC[0]}_{minor}_{MACHINE}" for minor in range(GLIBC[1], 16, -1)]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--no-compile",
        "--target",
        str(root / "n"),
    ]
    abi = f"cp{sys.version_info.major}{sys.version_info.minor}"
    kind = ["--implementation=cp", f"--python-version={_PYTHON}", f"--abi={abi}", "--only-binary=:all:"]
    subprocess.run([*pip, *kind, *wanted, str(wheel)], check=True)
    command = root / "usr/bin/nodewise"
    command.write_text(
        "#!/usr/bin/python3\nimport sys\nfrom nodewise.__main__ import start\nsys.exit(start())\n", encoding="utf-8"
    )
    command.chmod(0o755)


def run_in(root: Path, line: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in the root, all of it emulated: the registration of the emulator ends with the namespace that it is made in."""
    emulator = shutil.which(EMULATOR) or EMULATOR
    # F: it is opened here and now, as the root does not have it
    register = ":nodewise-arm:M::" + ":".join(_MAGIC) + f":{emulator}:F"
    script = (
        'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && printf %s "$1" >/proc/sys/fs/binfmt_misc/register && '
        'mount --rbind /proc "$2/proc" && mount --rbind /sys "$2/sys" && mount --rbind /dev "$2/dev" && exec chroot "$2" /usr/bin/sh -c "$3"'
    )
    environment = {
        "PATH": "/usr/sbin:/usr/bin",
        "HOME": "/tmp",
        "PYTHONPATH": "/n",
        "NODEWISE_HISTORY": "off",
        "LANG": "C.UTF-8",
        **(more or {}),
    }
    words = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        script,
        "sh",
        register,
        str(root),
        f"cd /tmp && {line}",
    ]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def trial(wheel: Path, root: Path) -> list[str]:
    """What did not do what it should, in a new root; empty where all did."""
    root_with(wheel, root)
    faults = []
    told = run_in(root, "uname -m")
    if told.stdout.strip() != MACHINE:
        return [f"programs for Arm do not run here: {told.stderr.strip()}"]
    for line, expected in STEPS.items():
        told = run_in(root, line)
        good = told.returncode == 0 and expected in told.stdout
        print(f"{'right' if good else 'WRONG':<6} {line}", flush=True)
        if not good:
            faults.append(f"{line}: exit code {told.returncode}\n{told.stdout}{told.stderr}")
    return faults


def main(words: Sequence[str] = tuple(sys.argv[1:])) -> int:
    """Make it, or try it; 2 where that cannot be here, 1 where it is wrong."""
    trying = list(words[:1]) == ["--try"]
    folder = Path(words[-1])
    if why := missing(trying):
        print(f"error: {why}", file=sys.stderr)
        return 2
    try:
        if not trying:
            print(make(folder).name)
            return 0
        with tempfile.TemporaryDirectory() as root:
            faults = trial(next(folder.glob(f"nodewise-*{MACHINE}.whl")), Path(root))
    except AbsentError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except (RuntimeError, subprocess.CalledProcessError) as problem:
        faults = [str(problem)]
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
