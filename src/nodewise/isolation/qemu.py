# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines of QEMU: the host's files by virtio-9p, the program's streams as files of a folder that both sides see."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nodewise.base.errors import InputError, UnavailableError
from nodewise.isolation import guest_network
from nodewise.isolation.guest_kernel import GuestKernel, find_kernel, has_module, initrd, modules_for
from nodewise.isolation.image import WISHED, Image, Mapped, as_device, as_memory, read_image
from nodewise.isolation.kind import SCRATCH, Request, Start, Way
from nodewise.machine.files import first_match, read_text

#: What a guest has where nothing is said of it.
MEMORY = 1 << 30
_FEWEST = 2
_KVM = "dev/kvm"
#: What the kernel starts guests by: without one of them those of a distribution's kernel print nothing and never end.
_PROCESSORS_OWN = ("kvm_intel", "kvm_amd")
_ROOT, _WIRE = f"{SCRATCH}/rootfs", f"{SCRATCH}/rootfs/run/nodewise"
#: Quiet unless it fails; at its end a guest asks for a start anew, which -no-reboot makes QEMU's end.
_KERNEL_LINE = "console=ttyS0 quiet loglevel=1 reboot=t panic=-1 rdinit=/init"
#: What is memory inside.
_MEMORY_FOLDERS = ("/tmp", "/run")
_PCI = "pci"


def no_kvm(root: Path = Path("/")) -> str | None:
    """Why KVM cannot start a guest on this system (below `root`), in words; None where it may."""
    if not os.access(root / _KVM, os.R_OK | os.W_OK):
        return f"/{_KVM} is not there, or may not be used by this user"
    if not any((root / "sys" / "module" / name).exists() for name in _PROCESSORS_OWN):
        return (
            f"/{_KVM} is there, but neither {' nor '.join(_PROCESSORS_OWN)}: the processor's own virtualisation (VT-x, AMD-V) "
            "is not shown to this system, or not used"
        )
    return None


def clock_rate(root: Path = Path("/")) -> str:
    """What tells a guest's kernel how fast its processor counts: as this one, whose counter an emulated one shows. Empty where that is not known.

    A machine without another clock has nothing to measure that by: the kernel tries by a timer that comes late on a busy system, and then never ends booting.
    """
    rate = first_match(r"^cpu MHz\s*: ([\d.]+)$", read_text(root / "proc/cpuinfo") or "")
    return "" if rate is None else f" tsc_early_khz={round(float(rate) * 1000)}"


#: On the processor by KVM, or emulated.
WAYS = (Way("kvm", missing=no_kvm), Way("emulated", emulated=True))


def guest_start(request: Request, machine: str, bus: str, modules: Sequence[str], more: str = "") -> Start:
    """A guest on `machine`, whose devices are on `bus` (`pci` or `device`), with these modules.

    A processor of the guest has the number that it has here. Raises UnavailableError, and InputError for an image that cannot be mapped.
    """
    kernel = find_kernel(request.environment)
    # an emulated microvm of one processor finds no clock to measure another by, and never ends booting
    there = max(_FEWEST - 1, *os.sched_getaffinity(0), *(request.processors or ())) + 1
    emulated = request.way == "emulated"
    memory = request.memory or MEMORY
    devices = [
        word
        for name, path in (("root", _ROOT), ("wire", _WIRE))
        for word in (
            *("-fsdev", f"local,id={name},path={path},security_model=none,multidevs=remap"),
            *("-device", f"virtio-9p-{bus},fsdev={name},mount_tag={name}"),
        )
    ]
    names = [*modules]
    network = None
    if request.network:
        guest_network.check_user_network(request.runtime)
        devices += guest_network.network_words(bus)
        names += guest_network.MODULES
        network = guest_network.described()
    root = None
    if request.root:
        image = read_image(Path(request.root))
        place = _seen_by_qemu(request.root)
        mapped = as_device(image, place, memory) if bus == _PCI else as_memory(image, place, memory, there)
        names += _modules_of(kernel, image, mapped)
        more += mapped.line
        machine += mapped.machine
        root = {"kind": image.kind, "options": image.options, "shown": _shown(request)}
    words = (
        *(request.runtime, "-M", machine, "-accel", "tcg,thread=multi" if emulated else "kvm"),
        *("-cpu", "max" if emulated else "host", "-smp", str(there)),
        *(mapped.words if request.root else ("-m", f"{memory >> 20}M")),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-chardev", "file,id=console,path=/proc/self/fd/2,append=on", "-serial", "chardev:console"),
        *devices,
        *("-kernel", str(kernel.file), "-initrd", f"{SCRATCH}/initrd", "-append", f"{_KERNEL_LINE}{more}"),
    )
    guest = {
        "memory": list(_MEMORY_FOLDERS) if request.root else _memory_folders(request),
        "processors": None if request.processors is None else list(request.processors),
        "network": network,
        "root": root,
    }
    return Start(words, scratch=True, initrd=initrd(kernel, tuple(names)), guest=guest)


def _memory_folders(request: Request) -> list[str]:
    """Those that a guest has as memory of its own; of the host's files /run is memory already, and a folder that is shown in part comes from there."""
    shown = [one.path for one in request.volumes]
    return [f for f in ("/tmp",) if not any(path == f or path.startswith(f + "/") for path in shown)]


def _seen_by_qemu(path: str) -> str:
    """A file's place in the room: below the room's root, whose folder covers one that the system has; but for what is memory there."""
    return path if path.startswith(tuple(f"{folder}/" for folder in _MEMORY_FOLDERS)) else f"{_ROOT}{path}"


def _modules_of(kernel: GuestKernel, image: Image, mapped: Mapped) -> list[str]:
    """Raises InputError where the kernel has not all that an image needs."""
    wished = [name for name in WISHED if has_module(kernel, name)]
    needed = [*mapped.modules, *wished, *image.modules]
    try:
        modules_for(kernel, tuple(needed))
    except UnavailableError as problem:
        raise InputError(f"root={image.path}: {problem.what}", problem.hint) from None
    return needed


def _shown(request: Request) -> list[dict[str, object]]:
    """What of the host's files is seen in an image: volumes, the directory to run in, and the program where it is `lacking`."""
    paths = {one.path for one in request.volumes}
    if request.cwd != "/" and request.cwd not in _MEMORY_FOLDERS:
        paths.add(request.cwd)
    shown: list[dict[str, object]] = [{"path": path, "from": path, "lacking": False} for path in sorted(paths)]
    if request.program:
        path = os.path.normpath(Path(request.cwd, request.program))
        shown.append({"path": path, "from": os.path.realpath(path), "lacking": True})
    return shown
