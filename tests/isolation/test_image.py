# SPDX-License-Identifier: BSD-3-Clause
"""A guest's root that is mapped from an image: what is no such image is told before anything boots; inside, the kernel says that it maps it."""

import hashlib
import os
import re
import struct
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.isolation import image as imaging
from nodewise.isolation import launcher as launching
from nodewise.isolation.image import read_image
from nodewise.isolation.kind import Request, Start, Volume, kind_of
from nodewise.isolation.launcher import UNMAPPED, IsolatedLauncher
from nodewise.isolation.prepare import isolation_kind
from nodewise.runner.isolation import Isolation, read_isolation
from nodewise.runner.launcher import RunOptions
from nodewise.runner.setting import Setting
from tests.isolation.roots import image_of, root_folder
from tests.isolation.runtimes import GUESTS, booted, left, made_up_kernel, state_of_the_system
from tests.started import started

_LIMIT_S = 240.0
_MIB = 1 << 20


def _written(path: Path, size: int = 4 * _MIB, **numbers: int) -> Path:
    """A file with the superblock of an ext4 of blocks of 4 KiB, but for some of its numbers."""
    block = bytearray(1024)
    given = {"blocks": size // 4096, "log_size": 2, "magic": 0xEF53, "incompatible": 0x2C2} | numbers
    struct.pack_into("<I", block, 4, given["blocks"])
    struct.pack_into("<I", block, 24, given["log_size"])
    struct.pack_into("<H", block, 56, given["magic"])
    struct.pack_into("<I", block, 96, given["incompatible"])
    path.write_bytes(b"\0" * 1024 + block)
    os.truncate(path, size)
    return path


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return _written(tmp_path / "root.img")


def test_an_image_is_known_by_its_superblock(image: Path, tmp_path: Path) -> None:
    found = read_image(image)
    assert (found.kind, found.size, found.options) == ("ext4", 4 * _MIB, "dax,noload")
    erofs = bytearray(1024)
    struct.pack_into("<I8xB", erofs, 0, 0xE0F5E1E2, 12)
    struct.pack_into("<I", erofs, 36, 512)
    other = tmp_path / "other.img"
    other.write_bytes(b"\0" * 1024 + erofs)
    os.truncate(other, 2 * _MIB)
    found = read_image(other)
    assert (found.kind, found.options) == ("erofs", "dax=always")


@pytest.mark.parametrize(
    ("changed", "size", "why"),
    [
        ({"magic": 0}, 4 * _MIB, "no file system that a guest could map: neither ext4 nor erofs"),
        ({"log_size": 0}, 4 * _MIB, "blocks of 1024 bytes"),
        ({"log_size": 4000000}, 4 * _MIB, "blocks of 67108864 bytes"),
        ({"blocks": 4096}, 4 * _MIB, "has 4194304 bytes, and its file system 16777216"),
        ({"incompatible": 0x2C6}, 4 * _MIB, "was not unmounted well"),
        ({}, 4 * _MIB + 4096, "is no multiple of 2 MiB"),
        ({"magic": 0}, 0, "no file system"),
    ],
)
def test_what_no_guest_could_map_is_named(changed: dict[str, int], size: int, why: str, tmp_path: Path) -> None:
    image = _written(tmp_path / "root.img", size, **changed)
    with pytest.raises(InputError, match=why):
        isolation_kind(Isolation("microvm", root=str(image)))


def test_it_is_one_message_and_bad_input(image: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.img").touch()
    for options, said in (
        (f"microvm,root={tmp_path}/gone.img", "is not there"),
        (f"vm,root={tmp_path}", "is no file"),
        (f"vm,root={tmp_path}/empty.img", "has no file system that a guest could map"),
        (f"bwrap,root={image}", "root=IMAGE is of microvm and vm"),
        ("microvm,root=", "'root=' is no option"),
    ):
        for command in ("run", "place"):
            told = started(command, "--isolation", options, "--", "true", cwd=tmp_path)
            assert told.returncode == 2 and said in told.stderr and "Traceback" not in told.stderr, (options, told)


def _start(kind: str, kernel: Path, image: Path, **more: object) -> Start:
    made = kind_of(kind).start
    assert made is not None
    environment = {"NODEWISE_GUEST_KERNEL": str(kernel)}
    request = Request("/usr/bin/QEMU", "emulated", environment=environment, root=str(image), **more)  # type: ignore[arg-type]
    return made(request)


def test_an_ordinary_machine_has_it_as_a_device_and_a_light_one_as_memory(image: Path, tmp_path: Path) -> None:
    kernel = made_up_kernel(tmp_path)
    shared = f"memory-backend-file,id=image,mem-path={image},size={4 * _MIB},share=on,readonly=on"
    words = list(_start("vm", kernel, image).words)
    assert shared in words and "virtio-pmem-pci,memdev=image" in words
    assert words[words.index("-m") + 1] == "1024M,slots=1,maxmem=3072M" and "-numa" not in words
    # a light one: after 3 GiB, of which the kernel is to use the first
    start = _start("microvm", kernel, image, processors=(0, 3))
    words = list(start.words)
    assert shared in words and words[words.index("-m") + 1] == "3076M" and words.count("-m") == 1
    assert "node,nodeid=1,memdev=image" in words and "virtio-pmem-pci,memdev=image" not in words
    assert words[-1].endswith(" mem=1024M memmap=4M!0x100000000")
    assert (
        _start("microvm", kernel, image, memory=5 << 30)
        .words[-1]
        .endswith("rdinit=/init" + _told() + " memmap=4M!0x180000000")
    )
    for name in (b"nd_e820", b"nd_pmem", b"ext4", b"crc32c_generic", b"overlay"):
        assert b"modules/" + name + b".ko\0" in start.initrd


def _told() -> str:
    from nodewise.isolation.qemu import clock_rate

    return clock_rate()


def test_what_is_shown_in_it_is_told(image: Path, tmp_path: Path) -> None:
    kernel = made_up_kernel(tmp_path)
    volumes = (Volume("/data", True), Volume("/tmp/in", False))
    start = _start("microvm", kernel, image, volumes=volumes, program="/opt/app", cwd="/work")
    assert start.guest is not None and start.guest["memory"] == ["/tmp", "/run"]
    root = start.guest["root"]
    assert (root["kind"], root["options"]) == ("ext4", "dax,noload")
    assert [(one["path"], one["lacking"]) for one in root["shown"]] == [
        ("/data", False),
        ("/tmp/in", False),
        ("/work", False),
        ("/opt/app", True),
    ]
    # below memory it is looked for where it is; else in the room, which covers a folder of the system
    assert str(image).startswith("/tmp/") and f"mem-path={image}," in " ".join(start.words)


def test_a_kernel_that_cannot_map_it_is_bad_input(image: Path, tmp_path: Path) -> None:
    for number, (kind, name) in enumerate(
        (("vm", "virtio_pmem"), ("microvm", "nd_e820"), ("vm", "ext4"), ("vm", "nd_btt"))
    ):
        kernel = made_up_kernel(tmp_path / str(number), without=(name,))
        with pytest.raises(InputError, match=f"root={image}: the kernel .* has no module {name}"):
            _start(kind, kernel, image)
    # a kernel may have it in itself, or elsewhere
    _start("vm", made_up_kernel(tmp_path / "other", without=("crc32c_generic",)), image)


def test_it_is_written_as_it_is_read(image: Path) -> None:
    found = read_isolation(f"microvm,memory=512M,root={image.name}", image.parent)
    assert found == Isolation("microvm", memory=512 * _MIB, root=str(image))
    assert found is not None and read_isolation(found.text) == found
    setting = Setting(("true",), isolation=found)
    assert setting.to_json()["isolation"]["root"] == str(image)


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "features", "said"),
    [
        ("noload", "^inline_data", r"mounted the image without mapping it \(ro,"),
        ("dax,noload", "inline_data", r"does not map the image .*: Invalid argument: .*inline"),
    ],
)
def test_a_kernel_that_falls_back_is_told(
    options: str, features: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = booted(kind_of("vm"))
    monkeypatch.setattr(launching, "working_way", lambda *_: way)
    monkeypatch.setitem(imaging._OPTIONS, "ext4", options)
    image = image_of(root_folder(tmp_path / "root", "true"), tmp_path / "root.img", "ext4", "-O", features)
    with IsolatedLauncher(RunOptions(cwd=tmp_path)) as launcher:
        sample = launcher.run(Setting(("true",), isolation=read_isolation(f"vm,root={image}")), timeout_s=_LIMIT_S)
    assert re.search(f"vm did not start it: .*{said}", sample.error or ""), sample.error


_TEXT = """
grep ' /run/image ' /proc/mounts > {out}/mounts; cat data > {out}/data; cat /marker > {out}/marker
{{ echo no > /written; }} 2>/dev/null; {{ echo no > data; }} 2>/dev/null; echo yes > /tmp/file && cat /tmp/file > {out}/memory
exit 5
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", GUESTS)
@pytest.mark.parametrize("system", ["ext4", "erofs"])
def test_the_kernel_maps_it_and_what_is_written_is_elsewhere(
    kind: str, system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = booted(kind_of(kind))
    monkeypatch.setattr(launching, "working_way", lambda *_: way)
    folder = root_folder(tmp_path / "root", "sh", "cat", "grep")
    (folder / "marker").write_text("of the image\n")
    image = image_of(folder, tmp_path / "root.img", system)
    before, was = state_of_the_system(), (hashlib.sha256(image.read_bytes()).hexdigest(), image.stat().st_mtime_ns)
    (tmp_path / "out").mkdir()
    (tmp_path / "data").write_text("of the folder\n")
    text = _TEXT.format(out=tmp_path / "out")
    isolation = read_isolation(f"{kind},volume={tmp_path}/out,root={image}")
    options = RunOptions(cwd=tmp_path, accepted=frozenset({5}))
    with IsolatedLauncher(options) as launcher:
        sample = launcher.run(Setting(("sh", "-c", text), isolation=isolation), timeout_s=_LIMIT_S)
    assert sample.ok, sample.error
    read = {name: (tmp_path / "out" / name).read_text() for name in ("mounts", "data", "marker", "memory")}
    assert (read["data"], read["marker"], read["memory"]) == ("of the folder\n", "of the image\n", "yes\n")
    assert read["mounts"].split()[:3] == ["/dev/pmem0", "/run/image", system]
    assert "dax=always" in read["mounts"] and " ro," in read["mounts"]
    assert not any(mark.startswith(UNMAPPED) for mark in sample.marks), sample.marks
    assert (hashlib.sha256(image.read_bytes()).hexdigest(), image.stat().st_mtime_ns) == was
    assert left(before) == {} and (tmp_path / "data").read_text() == "of the folder\n"
