# SPDX-License-Identifier: BSD-3-Clause
"""Boot a Linux guest with another machine's shape, and run the tests of binding and memory inside of it.

    ./dev guest [--shell] [--kvm] [pytest's arguments]
    ./dev guest --governors [--kills N | --record FILE]

The guest has 2 sockets of 8 cores with 4 hardware threads, 2 NUMA nodes with processors and a third, faster one without,
as the firmware's table of bandwidths says. QEMU emulates it (with --kvm it runs on /dev/kvm, which a virtual machine's own
hypervisor may do badly), so whatever is asked of the kernel is real: masks, cpusets, memory policies, pages on nodes. Its
times mean nothing.

The system is one archive in memory: busybox, this checkout, and the interpreter with its libraries. Nothing of it is
installed here (--governors: tools/guest_governors.py); the kernel is the distribution's own package, unpacked below build/guest. --shell gives a shell in it.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "guest"
KERNELS = ("linux-image-cloud-amd64", "linux-image-virtual", "linux-image-generic", "linux-image-amd64")
#: Emulated, a start of the interpreter takes seconds.
LIMIT_S = 90 * 60
LONG = 4096
DEFAULT_TESTS = ("tests/guest", "tests/runner/test_memory.py")
#: What of the interpreter's and the environment's libraries the tests have no use for.
LEFT_OUT = re.compile(
    r"/(test|tests|idlelib|ensurepip|tkinter|lib2to3|turtledemo|__pycache__|config-3\.\d+[^/]*|pydoc_data|altair|vl_convert|"
    r"playwright|mypy|mypyc|ruff|clang_format|clang_tidy|hypothesis|jsonschema|jsonschema_specifications|narwhals|pip|"
    r"setuptools|nanobind|scikit_build_core|greenlet|rpds|ast_serialize|librt|jsonschema_path)(/|$)|\.(a|pyi|dist-info/RECORD)$"
)
NODE_MIB = {0: 1280, 1: 768, 2: 384}


def say(text: str) -> None:
    """Progress, for people."""
    print(text, file=sys.stderr, flush=True)


def fail(what: str, hint: str) -> int:
    """One message; the exit code of bad input."""
    say(f"error: {what}\n\nhint: {hint}")
    return 2


def kernel() -> Path | None:
    """The kernel of the distribution, fetched and unpacked once; None where no package has one."""
    found = sorted((FOLDER / "kernel").glob("boot/vmlinuz-*"))
    if found:
        return found[-1]
    name = _kernel_package()
    if name is None:
        return None
    say(f"fetching {name}")
    download = FOLDER / "download"
    shutil.rmtree(download, ignore_errors=True)
    download.mkdir(parents=True)
    for refresh in (False, True):
        if refresh:
            sudo = ["sudo"] if os.geteuid() != 0 else []
            subprocess.run([*sudo, "apt-get", "update", "-qq"], check=False)
            name = _kernel_package() or name
        if (
            subprocess.run(
                ["apt-get", "download", "-qq", name], cwd=download, check=False, stderr=subprocess.DEVNULL
            ).returncode
            == 0
        ):
            break
    archives = list(download.glob("*.deb"))
    if not archives:
        return None
    subprocess.run(["dpkg-deb", "-x", str(archives[0]), str(FOLDER / "kernel")], check=True)
    shutil.rmtree(download)
    return next(iter(sorted((FOLDER / "kernel").glob("boot/vmlinuz-*"))), None)


def _kernel_package() -> str | None:
    """The package that holds a kernel: what the first known name depends on."""
    for name in KERNELS:
        done = subprocess.run(["apt-cache", "depends", name], capture_output=True, text=True, check=False)
        match = re.search(r"Depends: (linux-image-(?:unsigned-)?[0-9]\S+)", done.stdout)
        if match:
            return match[1]
    return None


def programs(folder: Path) -> Path:
    """An OpenMP program that says where each of its threads may run, compiled here, since the guest has no compiler."""
    source = ROOT / "tests" / "guest" / "team.cpp"
    program = folder / "team"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++", "-O1", "-fopenmp", str(source), "-o", str(program)], check=True)
    return program


def tree() -> dict[str, Path]:
    """Every file that the guest gets, by its path there: the same as here."""
    version = sysconfig.get_python_version()
    roots = [
        *(Path(sys.base_prefix, "lib", name) for name in (f"python{version}",)),
        Path(sysconfig.get_path("purelib")),
        # in a checkout the other distributions, too, are used where they lie
        *(
            ROOT / name
            for name in ("src", "tests", "pyproject.toml", "transport/nodewise_transport", "studies/nodewise_studies")
        ),
    ]
    runtime = Path(sys.prefix, "lib", "libiomp5.so")
    files: dict[str, Path] = {}
    for root in roots:
        for path in [root] if root.is_file() else root.rglob("*"):
            # the interpreter's own packages are not the environment's
            foreign = path.is_relative_to(roots[0]) and {"site-packages", "dist-packages"} & set(path.parts)
            inside = "/" + str(path.relative_to(root))
            own = path.is_relative_to(ROOT) and not path.is_relative_to(sys.prefix)
            if path.is_file() and not foreign and (own or not LEFT_OUT.search(inside)) and "__pycache__" not in inside:
                files[str(path)] = path
    files[sys.executable] = Path(os.path.realpath(sys.executable))
    files[str(Path(sys.prefix, "pyvenv.cfg"))] = Path(sys.prefix, "pyvenv.cfg")
    files[os.path.realpath(sys.executable)] = Path(os.path.realpath(sys.executable))
    if runtime.exists():
        files[str(runtime)] = runtime
    team = programs(FOLDER)
    files[str(team)] = team
    files["/bin/busybox"] = Path(shutil.which("busybox") or "/bin/busybox")
    for library in libraries([p for p in files.values() if _is_program(p)]):
        files[library] = Path(library)
    return files


def _is_program(path: Path) -> bool:
    if not (path.suffix == ".so" or ".so." in path.name or os.access(path, os.X_OK)):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(paths: Iterable[Path]) -> set[str]:
    """What the loader adds to programs, under the names that it looks for."""
    listed = [str(p) for p in paths]
    found: set[str] = set()
    for i in range(0, len(listed), 64):
        done = subprocess.run(["ldd", *listed[i : i + 64]], capture_output=True, text=True, check=False)
        found |= set(re.findall(r"(?:=> |^\s+)(/\S+) \(0x", done.stdout, re.MULTILINE))
    return found


INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /root /usr/bin /sbin
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs tmp /tmp
/bin/busybox --install -s /bin
mkdir -p /sys/fs/cgroup && mount -t cgroup2 cgroup /sys/fs/cgroup
ifconfig lo 127.0.0.1 2>/dev/null
# with huge pages everywhere a page of 2 MiB would lie across the shares of several threads
echo madvise > /sys/kernel/mm/transparent_hugepage/enabled
export PATH={bin}:/bin:/usr/bin HOME=/root TERM=dumb LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
export NODEWISE_GUEST=1 NODEWISE_GUEST_TEAM={team}
cd {root}
exec </dev/console >/dev/console 2>&1
echo "nodewise-guest: up"
{command}
echo "nodewise-guest: exit $?"
poweroff -f
"""


def archive(files: dict[str, Path], init: str, name: str = "system") -> Path:
    """The archive of all files, made anew where one of them changed; and a small one behind it with the init program."""
    digest = hashlib.sha256()
    for inside, path in sorted(files.items()):
        state = path.stat()
        digest.update(f"{inside} {state.st_size} {state.st_mtime_ns}\n".encode())
    packed, mark = FOLDER / f"{name}.cpio.gz", FOLDER / f"{name}.mark"
    if not packed.exists() or not mark.exists() or mark.read_text() != digest.hexdigest():
        say(f"packing {len(files)} files")
        with gzip.open(packed, "wb", compresslevel=1) as out:
            out.write(b"".join(cpio((inside, path.read_bytes(), 0o100755) for inside, path in sorted(files.items()))))
        mark.write_text(digest.hexdigest())
    whole = FOLDER / f"{name}.initrd"
    small = io.BytesIO()
    with gzip.GzipFile(fileobj=small, mode="wb") as out:
        out.write(b"".join(cpio([("/init", init.encode(), 0o100755)])))
    whole.write_bytes(packed.read_bytes() + small.getvalue())
    return whole


def cpio(entries: Iterable[tuple[str, bytes, int]]) -> Iterator[bytes]:
    """An archive in the kernel's format (newc), with the folders that its files are in."""
    folders: set[str] = set()
    number = 0
    for name, data, mode in [*entries, ("/TRAILER!!!", b"", 0)]:
        parts = Path(name).parts[1:-1]
        new = ["/".join(parts[: i + 1]) for i in range(len(parts))]
        for folder in (f for f in new if f not in folders):
            folders.add(folder)
            number += 1
            yield _entry(number, folder, b"", stat.S_IFDIR | 0o755)
        number += 1
        yield _entry(number, name.lstrip("/"), data, mode)


def _entry(number: int, name: str, data: bytes, mode: int) -> bytes:
    encoded = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + encoded
    head += b"\0" * (-len(head) % 4)
    return head + data + b"\0" * (-len(data) % 4)


def machine(fast: bool) -> list[str]:
    """QEMU's words for the machine; under emulation hardware threads are shown only for a processor of this vendor."""
    words = ["-machine", "q35,hmat=on", "-accel", "kvm" if fast else "tcg,thread=multi"]
    # arch-capabilities are what a hypervisor below this one may refuse
    words += ["-cpu", "max,vendor=GenuineIntel" + (",-arch-capabilities" if fast else "")]
    words += ["-smp", "64,sockets=2,cores=8,threads=4"]
    words += ["-m", f"{sum(NODE_MIB.values())}M"]
    for node, size in NODE_MIB.items():
        words += ["-object", f"memory-backend-ram,id=m{node},size={size}M"]
        mine = f",cpus={32 * node}-{32 * node + 31},initiator={node}" if node < 2 else ",initiator=0"
        words += ["-numa", f"node,nodeid={node},memdev=m{node}{mine}"]
    for a, b, distance in ((0, 1, 21), (0, 2, 31), (1, 2, 41)):
        words += ["-numa", f"dist,src={a},dst={b},val={distance}"]
    for initiator in (0, 1):
        for target in NODE_MIB:
            latency = 100 if target == initiator else 150 if target == 2 else 210
            bandwidth = "400G" if target == 2 else "90G" if target == initiator else "40G"
            common = f"hmat-lb,initiator={initiator},target={target},hierarchy=memory"
            words += ["-numa", f"{common},data-type=access-latency,latency={latency}"]
            words += ["-numa", f"{common},data-type=access-bandwidth,bandwidth={bandwidth}"]
    return words


def boot(image: Path, initrd: Path, machine: Sequence[str], shell: bool, heard: list[str] | None = None) -> int:
    """Run the guest; the exit code of what it ran, or 1 where it did not come to its end. `heard` gets its long lines, which are not for people."""
    command = [
        "qemu-system-x86_64", *machine, "-nographic", "-no-reboot", "-nodefaults", "-kernel", str(image), "-initrd",
        str(initrd), "-append", "console=ttyS0 quiet panic=-1 numa_balancing=disable rdinit=/init",
    ]  # fmt: skip
    if shell:
        return subprocess.run([*command, "-serial", "mon:stdio"], check=False).returncode
    # util-linux's setpriv has the kernel end the guest with us, also where we are killed
    child = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command, "-serial", "stdio"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    timer = threading.Timer(LIMIT_S, child.kill)
    timer.start()
    code = 1
    try:
        begin = time.monotonic()
        for raw in child.stdout:
            line = raw.decode(errors="replace").rstrip("\r\n")
            if match := re.search(r"nodewise-guest: exit (\d+)", line):
                code = int(match[1])
            elif "nodewise-guest: up" in line:
                say(f"the guest is up after {time.monotonic() - begin:.0f} s")
            elif heard is not None and len(line) > LONG:
                heard.append(line)
            else:
                print(line, flush=True)
        child.wait()
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        child.wait()
    return code


def main() -> int:
    """Build what is missing, boot, test."""
    words = sys.argv[1:]
    shell, fast = "--shell" in words, "--kvm" in words
    tests = [w for w in words if w not in ("--shell", "--kvm")] or list(DEFAULT_TESTS)
    for tool in ("qemu-system-x86_64", "busybox", "g++", "ldd", "setpriv"):
        if shutil.which(tool) is None:
            return fail(
                f"{tool} is missing",
                "on Debian or Ubuntu ./dev guest installs it; elsewhere install QEMU and a static busybox",
            )
    FOLDER.mkdir(parents=True, exist_ok=True)
    if "--governors" in words:
        import guest_governors

        kills = int(words[words.index("--kills") + 1]) if "--kills" in words else 100
        record = Path(words[words.index("--record") + 1]) if "--record" in words else None
        code = guest_governors.run(kills, record)
        say("inside of the guest all is well" if code == 0 else f"inside of the guest something failed ({code})")
        return code
    image = kernel()
    if image is None:
        return fail("no kernel for the guest was found", f"put one at {FOLDER}/kernel/boot/vmlinuz-VERSION")
    quoted = " ".join(f"'{t}'" for t in tests)
    command = "setsid sh -i" if shell else f"{sys.executable} -m pytest -p no:cacheprovider -q {quoted}"
    init = INIT.format(bin=Path(sys.executable).parent, root=ROOT, team=programs(FOLDER), command=command)
    code = boot(image, archive(tree(), init), machine(fast), shell)
    if not shell:
        say("inside of the guest all is well" if code == 0 else f"inside of the guest something failed ({code})")
    return code


if __name__ == "__main__":
    sys.exit(main())
