# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots of recorded and of made-up systems: what is in them, what is not, and how large they are."""

import dataclasses
import json
import sqlite3
import struct
from collections import namedtuple
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.base.processors import parse_processors
from nodewise.base.shapes import ShapeError
from nodewise.machine.frequencies import read_frequency_control
from nodewise.machine.surroundings import Surroundings, read_surroundings
from nodewise.nodes.reading.mounts import _sizes, shown_options, shown_place
from nodewise.nodes.reading.reader import Reader
from nodewise.nodes.reading.software import read_software
from nodewise.nodes.reading.system import read_options
from nodewise.nodes.snapshot import Snapshot, snapshot_from_json
from nodewise.nodes.take import take_snapshot
from tests import systems
from tests.json_schemas import check_json
from tests.systems import write


def _recorded(root: Path, name: str) -> Path:
    data = json.loads((Path(__file__).parent / f"recorded/{name}.json").read_text())
    write(root, data["files"])
    for folder in data["folders"]:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for link, target in data["links"].items():
        (root / "drivers" / target).mkdir(parents=True, exist_ok=True)
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(root / "drivers" / target)
    return root


def _nulls(value: Any, at: str = "") -> list[str]:
    """The paths of all that is null."""
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return [p for k, v in value.items() for p in _nulls(v, f"{at}.{k}" if at else str(k))]
    if isinstance(value, tuple):
        return [p for v in value for p in _nulls(v, at)]
    return [at] if value is None else []


def _explained(made: Snapshot, path: str) -> bool:
    if any(path == fact or path.startswith(f"{fact}.") for fact in made.absent):
        return True
    return any(fact.endswith(".*") and path.startswith(fact[:-1]) for fact in made.absent)


@pytest.fixture
def node(tmp_path: Path) -> Snapshot:
    return take_snapshot(write(tmp_path, systems.cluster_node()), "0")


def test_a_recorded_virtual_machine_says_what_it_lacks(tmp_path: Path) -> None:
    made = take_snapshot(_recorded(tmp_path, "virtual"), "0")
    assert (made.node, made.processor.cores, made.system.kernel) == ("vm1", 2, "6.18.44")
    assert made.clocks.governors is None and "cpufreq" in made.absent["clocks.governors"]
    assert made.software is not None and made.software["libc6"].startswith("2.36")
    assert made.network is not None and made.network["eth0"].driver == "virtio_net"
    assert made.kernel.modules == {"kvm": None, "virtio_net": None}


def test_a_recorded_guest_has_a_driver_that_sets_frequencies(tmp_path: Path) -> None:
    """Recorded by `./dev guest --governors --record`: what acpi-cpufreq of a real kernel says, in an emulated machine."""
    made = take_snapshot(_recorded(tmp_path, "guest-frequencies"), "0")
    assert (made.node, made.processor.cores, made.firmware.vendor) == ("guest", 2, "QEMU")
    assert made.clocks.governors == {"schedutil": "0-1"} and made.clocks.drivers == {"acpi-cpufreq": "0-1"}
    assert (made.clocks.held_to_hz, made.clocks.could_hz, made.clocks.least_hz) == (2.661e9, 2.661e9, 1.064e9)
    assert made.clocks.boost is None and "boost" in made.absent["clocks.boost"]
    assert made.quiet["governor"] == "noisy" and "clocks.governors" not in made.absent
    assert all(_explained(made, path) for path in _nulls(made) if not path.startswith("kernel.modules"))
    control = read_frequency_control(tmp_path, 0)
    assert control is not None and control.governors[-1] == "schedutil" and len(control.governors) == 6
    assert control.frequencies_khz == (2661000, 2128000, 1596000, 1064000) and control.latency_ns == 10000
    assert control.transitions == sum(sum(ends.values()) for ends in control.changes.values()) == 26
    assert control.into_top == {"2128000": 3}


def test_every_part_of_a_cluster_node_is_read(node: Snapshot) -> None:
    assert (node.node, node.system.name, node.system.version) == ("n0001", "rocky", "9.3")
    assert node.system.uptime_s == 12345.67
    assert node.processor.microcode == {"0xd000375": "0-15"}
    assert (node.processor.sockets, node.processor.cores, node.processor.threads_per_core) == (2, 16, 1)
    assert (node.kernel.tickless, node.kernel.no_callbacks, node.kernel.isolated) == ("2-15", "2-15", "2-15")
    assert node.sensors.processor == 51.0 and node.sensors.watts == {"coretemp 0": 210.0}
    assert node.sensors.fans == {"coretemp 0": 5400}
    assert (node.errors.dimms, node.errors.corrected, node.errors.uncorrected, node.errors.machine_checks) == (
        2,
        3,
        0,
        3,
    )
    assert node.fabric is not None and node.fabric["mlx5_0/1"].rate == "200 Gb/sec (4X HDR)"
    assert (node.fabric["mlx5_0/1"].state, node.fabric["mlx5_0/1"].firmware) == ("ACTIVE", "20.35.1012")
    assert node.accelerators is not None and node.accelerators["0000:3b:00.0"].link == "x16 16.0 GT/s PCIe"
    assert node.network is not None and list(node.network) == ["ib0"]
    assert node.mounts is not None and list(node.mounts) == ["/", "/scratch", "/home/*"]
    assert node.mounts["/scratch"].options == ("flock", "rw", "user_xattr")
    assert node.limits.ulimits == {"locked memory": (None, None), "open files": (1024, 4096)}
    assert node.kernel.modules == {"lustre": "2.15.3", "mlx5_core": None}
    assert node.software == {"slurmd": "23.02.7-1", "lib openmpi": "40.30.4"}
    assert node.services == {"irqbalance": True, "slurmd": True}
    assert node.quiet["NUMA balancing"] == "noisy"


def test_no_address_user_serial_number_or_variable_is_in_it(node: Snapshot) -> None:
    text = json.dumps(node.to_json())
    for private in (
        "hunter2",
        "10.1.2.3",
        "10.0.0",
        "alice",
        "SN-12345",
        "b859",
        "fe:80",
        "77-88",
        "server:",
        "example.org",
    ):
        assert private not in text, private


@pytest.mark.parametrize("system", ["laptop", "server", "virtual", "guest", "cluster_node"])
def test_what_is_null_has_its_reason(tmp_path: Path, system: str) -> None:
    made = take_snapshot(write(tmp_path, getattr(systems, system)()), "0", node="n1")
    assert [p for p in _nulls(made) if not _explained(made, p)] == []
    check_json("snapshot", json.dumps(made.to_json()))


def test_what_is_written_is_read_back(node: Snapshot) -> None:
    assert snapshot_from_json(json.loads(json.dumps(node.to_json()))) == node


def test_one_of_256_processors_is_small(tmp_path: Path) -> None:
    many = {
        **systems.cluster_node(),
        **systems.common(256, threads=2, nodes=8),
        **systems.clocks(256, "performance", "acpi-cpufreq"),
    }
    stanza = "processor\t: {}\nmicrocode\t: 0x1\nmodel name\t: P\nflags\t\t: avx2"
    many["proc/cpuinfo"] = "\n\n".join(stanza.format(p) for p in range(256))
    made = take_snapshot(write(tmp_path, many), "0", node="n1")
    assert (made.processor.cores, made.processor.threads_per_core) == (128, 2)
    assert len(json.dumps(made.to_json(), separators=(",", ":"))) < 32 << 10


def test_xeon_phis_modes_come_from_firmware_or_else_from_numa_nodes(tmp_path: Path) -> None:
    phi = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 87\nmodel name\t: Phi\nflags\t\t: avx512f"
    nodes = {f"sys/devices/system/node/node{n}/cpulist": cpus for n, cpus in enumerate(("0-1", "2-3", "", ""))}
    files = {**systems.common(4), "proc/cpuinfo": phi, **nodes}
    seen = take_snapshot(write(tmp_path / "a", files), "0", node="n").memory
    assert (seen.mode, seen.cluster_mode) == ("Flat or Hybrid", "SNC2")
    told = {**files, "run/hwloc/knl_memoryside_cache": "version: 2\nmemory_mode: Cache\ncluster_mode: Quadrant"}
    seen = take_snapshot(write(tmp_path / "b", told), "0", node="n").memory
    assert (seen.mode, seen.cluster_mode) == ("Cache", "Quadrant")


def test_values_of_options_that_may_be_private_are_left_out() -> None:
    found = read_options("root=UUID=1 hugepages=4 hugepages=8 nosmt quiet isolcpus=a;b weird!=1 -- init=secret")
    assert found == {"root": None, "hugepages": "4 8", "nosmt": "", "quiet": "", "isolcpus": None}


def test_a_mount_says_neither_who_nor_where_from() -> None:
    assert shown_place("/run/user/1000/doc") == "/run/user/*/doc"
    assert shown_place("/scratch/alice", "rw,nosuid,user=alice") == "/scratch/*"
    assert shown_place("/data/proj_alice/malice", "rw,username=alice") == "/data/proj_*/malice"
    assert shown_place(r"/mnt/my\040disk") == "/mnt/my disk"
    assert shown_options("rw,uid=1000,addr=10.0.0.1,password=x,vers=4.2") == ("rw", "vers=4.2")


def test_mounts_of_an_automounter_pass_and_what_is_cut_is_said(tmp_path: Path) -> None:
    lines = [
        "/dev/sda1 / xfs rw 0 0",
        "map /proj autofs rw 0 0",
        "s:/a /proj/a nfs4 rw 0 0",
        "s:/b /project nfs4 rw 0 0",
    ]
    lines += ["systemd-1 /work autofs rw 0 0", "s:/w /work nfs4 rw 0 0"]
    lines += [f"overlay /var/lib/docker/overlay2/{n}/merged overlay rw 0 0" for n in range(100)]
    made = take_snapshot(write(tmp_path / "a", {**systems.cluster_node(), "proc/self/mounts": "\n".join(lines)}), "0")
    assert made.mounts is not None and {p: m.passing for p, m in made.mounts.items()} == {
        "/": False,
        "/proj/a": True,
        "/project": False,
        "/work": True,
        "/var/lib/docker/overlay2/*/merged": False,
    }
    assert "mounts.*" not in made.absent
    lines += [f"s:/{n} /proj/{n} nfs4 rw 0 0" for n in range(90)] + ["/dev/sdb1 /last xfs rw 0 0"]
    made = take_snapshot(write(tmp_path / "b", {**systems.cluster_node(), "proc/self/mounts": "\n".join(lines)}), "0")
    assert made.mounts is not None and len(made.mounts) == 64 and "/last" in made.mounts
    assert made.absent["mounts.*"] == "64 of 96 are kept"


def test_what_is_left_out_of_many_is_said(tmp_path: Path) -> None:
    many = {f"sys/class/net/eth{n}/device/class": "x" for n in range(70)}
    many |= {f"sys/class/infiniband/mlx5_{n}/ports/1/rate": "100" for n in range(71)}
    many |= {
        f"sys/bus/pci/devices/{n:04}/{k}": v
        for n in range(72)
        for k, v in (("class", "0x030000"), ("vendor", "0x10de"))
    }
    many |= {f"sys/class/hwmon/hwmon{n}/name": "x" for n in range(73)}
    many |= {f"usr/lib64/libmpi.so.{n}": "" for n in range(3)}
    made = take_snapshot(write(tmp_path, {**systems.common(2), **many}), "0", node="n")
    assert made.network is not None and made.fabric is not None and made.accelerators is not None
    assert (len(made.network), len(made.fabric), len(made.accelerators)) == (64, 64, 64)
    for fact, count in (("network", 70), ("fabric", 71), ("accelerators", 72), ("sensors", 73)):
        assert made.absent[f"{fact}.*"] == f"64 of {count} are kept"


def test_packages_of_rpm_are_read_from_its_database(tmp_path: Path) -> None:
    """A database and its headers made by hand, after RPM's description of both."""
    path = tmp_path / "var/lib/rpm/rpmdb.sqlite"
    path.parent.mkdir(parents=True)
    data = b"slurm\x0023.02.7\x001.el9\0"
    entries = b"".join(struct.pack(">IIiI", tag, 6, at, 1) for tag, at in ((1000, 0), (1001, 6), (1002, 14)))
    blob = struct.pack(">II", 3, len(data)) + entries + data
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, blob BLOB)")
    base.execute("CREATE TABLE Name (key TEXT, hnum INTEGER, idx INTEGER)")
    base.execute("INSERT INTO Packages VALUES (7, ?), (8, x'00')", (blob,))
    base.execute("INSERT INTO Name VALUES ('slurm', 7, 0), ('munge', 8, 0), ('zlib', 7, 0)")
    base.commit()
    base.close()
    assert read_software(Reader(tmp_path)) == {"slurm": "23.02.7-1.el9"}


def test_a_root_that_is_none_and_other_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no copy of a system"):
        take_snapshot(tmp_path, "0")
    for data, words in (
        ({}, "no snapshot"),
        ({"nodewise_snapshot": 2}, "version 2"),
        ({"nodewise_snapshot": 1}, "missing"),
        ([], "no snapshot"),
    ):
        with pytest.raises(ShapeError, match=words):
            snapshot_from_json(data)


def test_what_is_counted_of_many_is_the_right_one_of_them(tmp_path: Path) -> None:
    files = dict(systems.cluster_node())
    cpu = "sys/devices/system/cpu"
    # two threads of one core, and a core whose second thread is off
    files |= {f"{cpu}/online": "0-2", f"{cpu}/present": "0-3", "proc/self/mounts": ""}
    for number, (core, threads) in enumerate([(0, "0,2"), (1, "1"), (0, "0,2")]):
        files[f"{cpu}/cpu{number}/topology/physical_package_id"] = "0"
        files[f"{cpu}/cpu{number}/topology/core_id"] = str(core)
        files[f"{cpu}/cpu{number}/topology/thread_siblings_list"] = threads
    chip = "sys/class/hwmon/hwmon9"
    files |= {f"{chip}/name": "board", f"{chip}/fan1_input": "900", f"{chip}/fan2_input": "4000"}
    files |= {f"{chip}/power1_average": "200000000", f"{chip}/power1_input": "350000000"}
    errors = "sys/class/net/net9"
    files |= {f"{errors}/device/x": "", f"{errors}/speed": "0", f"{errors}/statistics/rx_errors": "3"}
    made = take_snapshot(write(tmp_path, files), "0", node="n")
    assert (made.processor.cores, made.processor.threads_per_core) == (2, 2)
    assert made.sensors.fans is not None and made.sensors.watts is not None
    assert (made.sensors.fans["board 0"], made.sensors.watts["board 0"]) == (900, 200.0)
    assert made.network is not None
    # one of the counters is not there, and a link that is down has no speed
    assert (made.network["net9"].errors, made.network["net9"].speed) == (None, None)


def test_errors_with_a_wrong_checksum_are_counted_once(tmp_path: Path) -> None:
    at = "sys/class/net/net9"
    counts = {"rx_errors": "60", "tx_errors": "1", "rx_crc_errors": "60"}
    files = {f"{at}/statistics/{name}": count for name, count in counts.items()}
    made = take_snapshot(write(tmp_path, {**systems.cluster_node(), f"{at}/device/x": "", **files}), "0", node="n")
    assert made.network is not None and made.network["net9"].errors == 61


def test_the_clock_and_the_room_are_what_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        @staticmethod
        def adjtimex(state: Any) -> int:
            state._obj.status, state._obj.offset, state._obj.maxerror = Clock.status, 2000, 3000
            return 0

    monkeypatch.setattr("nodewise.nodes.reading.system.ctypes.CDLL", lambda *_, **__: Clock)
    for status, offset in ((0x2001, 2e-6), (0x0001, 2e-3)):
        Clock.status = status
        time = take_snapshot(Path("/"), "0").time
        assert (time.offset_s, time.error_s, time.synchronised) == (pytest.approx(offset), pytest.approx(3e-3), True)
    room = namedtuple("room", "f_bavail f_bfree f_blocks f_frsize f_favail f_ffree f_files")
    monkeypatch.setattr("nodewise.nodes.reading.mounts.os.statvfs", lambda _: room(10, 15, 100, 4096, 3, 4, 10))
    found = _sizes(["/x"])
    # what is kept for root is not free for jobs
    assert found == {"/x": (409600, 0.1, 0.3)}


def test_it_is_of_the_whole_node_wherever_the_process_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []

    def read(root: Path, processors: tuple[int, ...]) -> Surroundings:
        seen.append(processors)
        return read_surroundings(root, processors)

    monkeypatch.setattr("nodewise.nodes.take.read_surroundings", read)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    take_snapshot(Path("/"), "0")
    assert seen == [parse_processors(Path("/sys/devices/system/cpu/online").read_text().strip())]
