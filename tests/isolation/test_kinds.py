# SPDX-License-Identifier: BSD-3-Clause
"""What each kind gives its runtime, on any machine; and kinds that a package brings."""

import dataclasses
import json
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, UnavailableError
from nodewise.isolation import guest_kernel, qemu
from nodewise.isolation.kind import Request, Start, Volume, all_kinds, kind_of
from nodewise.isolation.prepare import Prepared, request_of
from nodewise.isolation.probe import working_way
from nodewise.runner.isolation import Isolation, read_isolation
from nodewise.runner.launch import launch_of
from nodewise.runner.setting import Setting, setting_from_json
from tests.isolation.runtimes import made_up_kernel
from tests.outside import examples, nodewise_with, package

_REQUEST = Request("/usr/bin/RUNTIME", "", (Volume("/data", True), Volume("/tmp/in", False)))


def _start(name: str, **changed: object) -> Start:
    kind = kind_of(name)
    assert kind.start is not None
    return kind.start(dataclasses.replace(_REQUEST, **changed))  # type: ignore[arg-type]


def test_all_kinds_are_there_each_in_a_file_of_its_name() -> None:
    kinds = all_kinds()
    assert set(kinds) >= {"process", "bwrap", "runc", "crun", "gvisor", "vm", "microvm", "kata"}
    assert all(kind.package for kind in kinds.values() if kind.name not in ("process", "kata"))


def test_bwrap_is_told_of_volumes_network_and_root() -> None:
    words = list(_start("bwrap").words)
    text = " ".join(words)
    assert "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run" in text
    assert "--bind /data /data --ro-bind /tmp/in /tmp/in" in text
    assert "--unshare-all --die-with-parent" in text and text.endswith("--chdir {cwd} -- {program}")
    assert "--share-net" in _start("bwrap", network=True).words


@pytest.mark.parametrize("name", ["runc", "crun", "gvisor", "kata"])
def test_an_oci_runtime_gets_a_bundle_with_a_root_that_is_read_only(name: str) -> None:
    start = _start(name, way="ptrace")
    assert start.scratch and start.config is not None
    assert start.words[0] == "/usr/bin/RUNTIME" and start.words[-4:] == ("run", "--bundle", "{scratch}", "{id}")
    assert start.config["root"]["path"] == "rootfs" and start.config["process"]["noNewPrivileges"] is True
    kinds = [one["type"] for one in start.config["linux"]["namespaces"]]
    assert {"pid", "ipc", "uts", "mount", "network"} == set(kinds)
    shared = _start(name, way="ptrace", network=True).config
    assert shared is not None and "network" not in [one["type"] for one in shared["linux"]["namespaces"]]
    assert json.loads(json.dumps(start.config)) == start.config


def test_runtimes_make_no_control_groups() -> None:
    assert "--rootless=true" in _start("runc").words
    assert "--cgroup-manager=disabled" in _start("crun").words and _start("crun").hidden
    assert {"--ignore-cgroups", "--platform=systrap", "--network=none"} <= set(_start("gvisor", way="systrap").words)
    assert "--network=host" in _start("gvisor", way="ptrace", network=True).words


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    return made_up_kernel(tmp_path)


@pytest.mark.parametrize(
    ("name", "machine", "device"), [("vm", "q35", "virtio-9p-pci"), ("microvm", "microvm", "virtio-9p-device")]
)
def test_a_guest_gets_a_kernel_files_and_processors(name: str, machine: str, device: str, kernel: Path) -> None:
    environment = {"NODEWISE_GUEST_KERNEL": str(kernel)}
    start = _start(name, way="emulated", environment=environment, processors=(0, 3), memory=2 << 30)
    words = list(start.words)
    assert words[words.index("-M") + 1] == machine and words[words.index("-m") + 1] == "2048M"
    assert int(words[words.index("-smp") + 1]) >= 4 and words[words.index("-accel") + 1].startswith("tcg")
    assert words[words.index("-kernel") + 1] == str(kernel) and "-no-reboot" in words
    assert f"{device},fsdev=root,mount_tag=root" in words and f"{device},fsdev=wire,mount_tag=wire" in words
    assert start.guest == {"memory": [], "processors": [0, 3], "network": None, "root": None}
    assert b"modules/order" in start.initrd and b"9pnet.ko\n" in start.initrd and start.initrd[:6] == b"070701"
    assert (b"virtio_mmio.ko\n" in start.initrd) == (name == "microvm")
    fast = _start(name, way="kvm", environment=environment).words
    assert fast[fast.index("-accel") + 1] == "kvm" and fast[fast.index("-cpu") + 1] == "host"


def test_modules_come_after_those_that_they_need(kernel: Path) -> None:
    found = guest_kernel.find_kernel({"NODEWISE_GUEST_KERNEL": str(kernel)})
    order = list(guest_kernel.modules_for(found, ("virtio_pci", "9pnet_virtio", "9p")))
    assert order == ["9pnet", "virtio", "9pnet_virtio", "netfs", "9p"]
    with pytest.raises(UnavailableError, match="no module fuse"):
        guest_kernel.modules_for(found, ("fuse",))


def test_a_guest_without_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="needs a kernel") as refused:
        _start("vm", way="emulated", environment={"NODEWISE_GUEST_KERNEL": str(tmp_path / "none")})
    assert "linux-image-amd64" in (refused.value.hint or "")


def test_kvm_needs_the_processors_own_virtualisation(tmp_path: Path) -> None:
    assert "is not there" in (qemu.no_kvm(tmp_path) or "")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "kvm").touch()
    assert "neither kvm_intel nor kvm_amd" in (qemu.no_kvm(tmp_path) or "")
    (tmp_path / "sys" / "module" / "kvm_amd").mkdir(parents=True)
    assert qemu.no_kvm(tmp_path) is None


def test_an_emulated_microvm_is_told_how_fast_its_processor_counts(tmp_path: Path, kernel: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert qemu.clock_rate(tmp_path) == ""
    (tmp_path / "proc/cpuinfo").write_text("processor\t: 0\nmodel name\t: A\ncpu MHz\t\t: 2596.146\n")
    assert qemu.clock_rate(tmp_path) == " tsc_early_khz=2596146"
    environment = {"NODEWISE_GUEST_KERNEL": str(kernel)}
    for name, way, told in (("microvm", "emulated", True), ("microvm", "kvm", False), ("vm", "emulated", False)):
        line = _start(name, way=way, environment=environment).words[-1]
        assert line.endswith(qemu.clock_rate() if told else "rdinit=/init"), line


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "kata-runtime  : 3.2.0\n   commit   : 0\n   OCI specs: 1.0.2",
            "kata-runtime 3.2.0 starts no container by itself",
        ),
        ("kata-runtime  : 1.12.1", "kvm"),
        ("", "kvm"),
    ],
)
def test_kata_is_refused_where_it_cannot_work(
    said: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(UnavailableError, match="kata: there is no program kata-runtime here"):
        working_way(kind_of("kata"))
    runtime = tmp_path / "kata-runtime"
    runtime.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo '{said}' && exit\necho Invalid command >&2\nexit 1\n")
    runtime.chmod(0o755)
    if why == "kvm":
        # with KVM it is tried, and refused in its own words
        why = "does not work here: .*" + ("Invalid command" if qemu.no_kvm() is None else "/dev/kvm is")
    with pytest.raises(UnavailableError, match=why):
        working_way(kind_of("kata"))


def test_what_lies_in_memory_inside_is_shown(tmp_path: Path) -> None:
    kind = dataclasses.replace(kind_of("bwrap"), programs=("sh",))
    asked = Isolation("bwrap", (f"{tmp_path}/out",))
    request = request_of(asked, kind, "", program=str(tmp_path / "bin" / "app"), cwd=Path("/tmp/where"))
    assert request.volumes == (
        *sorted(
            (
                Volume("/tmp/where", False),
                Volume(f"{tmp_path}/bin/app", False),
                Volume(f"{tmp_path}/out", True),
            ),
            key=lambda one: one.path,
        ),
    )
    assert request_of(Isolation("bwrap"), kind, "", program="/usr/bin/app", cwd=Path("/home")).volumes == ()


def test_a_report_is_read_while_nothing_of_it_has_a_name() -> None:
    prepared = Prepared(Start(("x",)), _REQUEST)
    spec = json.loads(prepared.words[2])
    with Path(spec["report"]).open("ab") as file:
        file.write(b'{"opened": 1}\nno json\n{"begin": 2}\n')
    assert prepared.report() == {"opened": 1, "begin": 2}
    prepared.close()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "names no kind"),
        ("Bwrap", "names no kind"),
        ("bwrap,colour=red", "is no option"),
        ("bwrap,network=wifi", "is no option"),
        ("bwrap,volume=/proc/gone", "is not there"),
        ("bwrap,volume=/", "cannot be a volume"),
        ("process,network=host", "sees all of the system"),
        ("vm,memory=0", "is no option"),
        ("bwrap,network=host,network=none", "network is given more than once"),
        ("vm,memory=1G,memory=2G", "memory is given more than once"),
        ("gvisor,way=ptrace,way=ptrace", "way is given more than once"),
        ("bwrap,volume=/usr,volume=/usr:ro", "the volume /usr is given more than once"),
        ("bwrap,volume=/proc", "/proc cannot be a volume: /proc, /dev and /sys are the kernel's"),
        ("bwrap,volume=/dev/shm", "/dev/shm cannot be a volume"),
        ("bwrap,volume=/sys/kernel:ro", "/sys/kernel cannot be a volume"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        read_isolation(text)


@pytest.mark.parametrize(
    ("text", "named"), [("bwrap,volume=loop", "the volume loop"), ("vm,root=loop", "the image loop")]
)
def test_links_that_lead_round_in_a_circle_are_bad_input(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("back")
    (tmp_path / "back").symlink_to("loop")
    with pytest.raises(InputError, match=f"--isolation: {named} is a symbolic link that leads round in a circle"):
        read_isolation(text, tmp_path)
    with pytest.raises(InputError, match="is not there"):
        read_isolation(text.replace("loop", "gone"), tmp_path)


def test_an_isolation_is_written_as_it_is_read(tmp_path: Path) -> None:
    text = f"gvisor,volume={tmp_path},volume=/usr:ro,network=host,way=ptrace"
    found = read_isolation(text)
    assert found is not None and found.text == text and read_isolation(found.text) == found
    assert read_isolation("vm,memory=2G") == Isolation("vm", memory=2 << 30)
    assert read_isolation("process") is None


def test_a_setting_differs_by_it_is_kept_with_it_and_has_its_line() -> None:
    plain = Setting(("./app", "a b"))
    isolated = dataclasses.replace(plain, isolation=Isolation("runc", ("/data",)))
    assert plain.start({}, [0]) != isolated.start({}, [0])
    assert setting_from_json(isolated.to_json()) == isolated and setting_from_json(plain.to_json()) == plain
    assert launch_of(isolated).line() == "nodewise place --isolation runc,volume=/data -- ./app 'a b'"
    both = dataclasses.replace(isolated, no_huge_pages=True, mask=(1,))
    line = launch_of(both).line()
    assert line == "taskset -c 1 nodewise place --huge-pages never --isolation runc,volume=/data -- ./app 'a b'"


def test_a_package_brings_a_kind(tmp_path: Path) -> None:
    folder = package(tmp_path, examples("isolation.md"), "nodewise.isolation", "KIND")
    cache = str(tmp_path / "cache")
    out = str(tmp_path / "out")
    program = ("sh", "-c", "hostname; exit 3")
    told = nodewise_with(folder, "place", "--isolation", "named", "--", *program, XDG_CACHE_HOME=cache)
    if told.returncode == 3 and "does not work here" in told.stderr:
        pytest.skip(told.stderr)
    assert (told.returncode, told.stdout) == (3, "nodewise\n"), told.stderr
    run = ("run", "-r", "1", "-w", "0", "--isolation", "named", "--accept-disturbed", "--out", out, "--", "true")
    told = nodewise_with(folder, *run, XDG_CACHE_HOME=cache)
    assert told.returncode == 0 and "startup_s" in told.stdout, told.stderr
