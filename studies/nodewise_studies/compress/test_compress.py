# SPDX-License-Identifier: BSD-3-Clause
"""Files that are empty, tiny, unreadable, changing or larger than a window, at every level; and what is advised."""

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.base.errors import InputError
from nodewise.studies.commands import native_contenders, script_contenders, work_of
from nodewise.studies.discovery import find_study
from nodewise_studies.compress.advice import PLAIN, Level, advice, best_of, frontier, listing, overview, parse_link
from nodewise_studies.compress.disk import near, parse_cpulist
from nodewise_studies.compress.files import look, split_paths, windows_of
from nodewise_studies.compress.levels import LEVELS, asked

COMPRESS = find_study("compress")
EVERY = [c for c in native_contenders(COMPRESS, {}) if c.not_run is None]
NOBODY = 65534


def run(name: str, point: Mapping[str, str], *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    contender = next(c for c in native_contenders(COMPRESS, COMPRESS.study.point(point)) if c.name == name)
    return subprocess.run([*contender.command, *options], capture_output=True, text=True, check=False, **more)


def answer(name: str, point: Mapping[str, str], *options: str) -> dict[str, Any]:
    done = run(name, point, *options)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edges")
    random = np.random.default_rng(5)
    (folder / "empty").write_bytes(b"")
    (folder / "one").write_bytes(b"x")
    for size in (65535, 65536, 65537):
        (folder / f"text-{size}").write_bytes((b"the quick brown fox " * 4000)[:size])
    (folder / "below").mkdir()
    (folder / "below" / "random").write_bytes(random.bytes(200_003))
    (folder / "below" / "run").write_bytes(b"\0" * 3_000_000)
    (folder / "to-itself").symlink_to(folder)
    return folder


def _levels() -> list[Any]:
    """All, of which the long tests have those between a library's first and last that is here, and one in the middle."""
    found: list[Any] = []
    for library in LEVELS:
        names = [c.name for c in EVERY if c.name.rpartition("-")[0] == library]
        first = {*names[:1], *names[len(names) // 2 :][:1], *names[-1:]}
        found += [pytest.param(n, marks=() if n in first else pytest.mark.long) for n in names]
    return found


@pytest.mark.some(5)
@pytest.mark.parametrize("name", _levels())
def test_every_level_brings_edge_files_back(name: str, edges: Path) -> None:
    one = answer(name, {"folder": str(edges)}, "--threads", "1")
    assert one["verified"] is True and one["files"] == 7
    assert one["items"] == 1 + 65535 + 65536 + 65537 + 200_003 + 3_000_000
    assert 2 < one["ratio"] < 17
    # in small blocks and windows of 1 MiB, by more threads
    point = {"folder": str(edges), "block": "65537", "window": "1"}
    assert answer(name, point, "--threads", "3")["items"] == one["items"]


def test_there_are_rows_for_all_libraries() -> None:
    names = {c.name for c in native_contenders(COMPRESS, {})}
    assert names == {f"{library}-{level}" for library, levels in LEVELS.items() for level in levels}
    assert {"zlib-6", "isal-semi", "zstd-19", "lz4-9"} <= names


def test_a_library_that_is_not_there_is_a_row_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodewise.studies.commands.find_library", lambda library: None)
    reasons = {c.name: c.not_run for c in native_contenders(COMPRESS, {})}
    assert reasons["isal-0"] == "libisal.so.2 is not installed: apt-get install libisal2"
    assert "apt-get install liblz4-1" in (reasons["lz4-1"] or "")
    assert "zlib-ng" in (reasons["zlib-ng-6"] or "")


@pytest.mark.parametrize(
    "point",
    [
        {"kind": "json", "size": "100003", "block": "4096"},
        {"size": "12"},
        {"folder": "", "block": "70000"},
        {"folder": "", "block": "70000", "window": "1"},
    ],
)
def test_the_blocks_that_python_knows_are_those_of_the_worker(edges: Path, point: dict[str, str]) -> None:
    point = {**point, "folder": str(edges)} if "folder" in point else point
    windows = windows_of(COMPRESS.study.point(point))
    sizes = [block.size for window in windows for block in window]
    assert sum(sizes) == answer("zlib-1", point)["items"]
    assert max(sizes) <= int(point.get("block", 16 << 20))
    assert len(windows) == (4 if "window" in point else 1)


@pytest.mark.skipif(find_spec("zlib_ng") is None, reason="Python's package zlib-ng is not installed")
def test_the_package_of_zlib_ng_goes_through_all_windows(edges: Path) -> None:
    for window in ("256", "1"):
        point = COMPRESS.study.point({"folder": str(edges), "block": "70000", "window": window})
        (wheel,) = [c for c in script_contenders(COMPRESS, point) if c.name == "zlib-ng-wheel-6"]
        done = subprocess.run(wheel.command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        one = json.loads(done.stdout)
        assert one["verified"] is True and one["items"] == 1 + 65535 + 65536 + 65537 + 200_003 + 3_000_000
        assert one["ratio"] == pytest.approx(answer("zlib-6", point)["ratio"], rel=0.1)


def test_zlib_ng_is_by_its_library_or_by_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    select = COMPRESS.study.select
    assert select is not None
    inside = select.__globals__
    monkeypatch.setitem(inside, "find_library", lambda library: None)
    monkeypatch.setitem(inside, "find_spec", lambda name: None)
    assert "zlib-ng-6" in select({})
    monkeypatch.setitem(inside, "find_spec", lambda name: name)
    assert "zlib-ng-wheel-6" in select({}) and "zlib-ng-6" not in select({})
    monkeypatch.setitem(inside, "find_library", lambda library: "/libz-ng.so.2")
    assert "zlib-ng-6" in select({}) and "zlib-ng-wheel-6" not in select({})


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_incompressible_bytes_grow_by_little(tmp_path: Path, step: int) -> None:
    file = tmp_path / "random"
    file.write_bytes(np.random.default_rng(1).bytes(1 << 20))
    for contender in EVERY[::step]:
        assert answer(contender.name, {"file": str(file)})["ratio"] > (0.5 if contender.name == "isal-0" else 0.9)


def test_time_is_that_of_the_library_alone(tmp_path: Path) -> None:
    one = answer("zlib-1", {"kind": "text", "size": "1000000"})
    assert one["seconds"] == pytest.approx(1 / one["compress_mbs"])
    assert one["user_s"] + one["system_s"] < 3 * (one["seconds"] + 1 / one["decompress_mbs"]) + 0.02


@pytest.mark.long
def test_a_file_larger_than_the_window_is_streamed_in_bounded_memory(tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(np.random.default_rng(2).integers(0, 4, 96 << 20, np.uint8).tobytes())
    # the quicker one where both are here
    contender = next(c for name in ("lz4-1", "zlib-1") for c in EVERY if c.name == name)
    point = COMPRESS.study.point({"file": str(file), "window": "8", "block": str(1 << 20)})
    words = [*contender.command, *(f"{k}={v}" for k, v in point.items())]
    program = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)"
    program += "; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run(["python3", "-c", program, *words], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 64 << 10


def test_named_files_that_cannot_be_read_are_one_clear_message(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    for point, reason in (
        ({"file": str(tmp_path / "none")}, "none: No such file"),
        ({"folder": str(tmp_path / "none")}, "none: No such file"),
        ({"file": str(tmp_path)}, "give it as folder="),
        ({"file": str(tmp_path / "empty")}, "nothing to compress: 1 files that can be read, all empty"),
        ({"file": "/dev/null"}, "/dev/null is no file"),
    ):
        with pytest.raises(InputError, match=reason) as problem:
            work_of(COMPRESS, COMPRESS.study.point(point))
        assert problem.value.hint and len(problem.value.what.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as another user")
def test_a_folder_with_a_file_that_may_not_be_read_as_seen_by_another_user(tmp_path: Path) -> None:
    # the program and what it loads have to be where that user gets at them
    worker = next(c for c in EVERY if c.name == "zlib-6").command
    done = subprocess.run([worker[0], worker[1], "--list"], capture_output=True, check=False, user=NOBODY)
    if done.returncode != 0:
        pytest.skip("another user may not run the worker")
    _unreadable(tmp_path)
    words = [*worker, f"folder={tmp_path}", "block=65536", "window=1"]
    done = subprocess.run(words, capture_output=True, check=False, user=NOBODY, env={})
    assert json.loads(done.stdout)["unreadable_files"] == 2
    done = subprocess.run([*worker, f"file={tmp_path}/secret"], capture_output=True, check=False, user=NOBODY, env={})
    assert done.returncode == 1 and b"secret: Permission denied" in done.stderr


def _unreadable(folder: Path) -> None:
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    (folder / "open").write_bytes(b"readable " * 1000)
    (folder / "secret").write_bytes(b"hidden")
    (folder / "secret").chmod(0)
    (folder / "closed").mkdir()
    (folder / "closed" / "within").write_bytes(b"hidden")
    (folder / "closed").chmod(0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything; as another user above")
def test_a_folder_with_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    _unreadable(tmp_path)
    try:
        assert answer("zlib-6", {"folder": str(tmp_path)})["unreadable_files"] == 2
        assert look("", str(tmp_path)).left_out == (str(tmp_path / "closed"), str(tmp_path / "secret"))
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_what_python_sees_of_files_is_what_the_worker_sees(edges: Path) -> None:
    seen = look("", str(edges))
    assert len(seen.files) == 7 and seen.left_out == ()
    assert sum(size for _, size, _ in seen.files) == answer("zlib-1", {"folder": str(edges)})["items"]


def test_paths_with_commas_may_be_given_with_others(tmp_path: Path) -> None:
    for name in ("a", "a,b", "c", "d,e,f"):
        (tmp_path / name).write_bytes(b"x" * (1 + len(name)))
    every = [tmp_path / name for name in ("a,b", "c", "d,e,f", "a")]
    text = ",".join(map(str, every))
    assert split_paths(text) == every and split_paths(f",{tmp_path}/a,,") == [tmp_path / "a"]
    assert split_paths("none,here") == [Path("none"), Path("here")] and split_paths("") == []
    many = [tmp_path / "c"] * 500
    assert split_paths(",".join(map(str, many))) == many
    one = answer("zlib-1", {"file": text})
    assert one["files"] == 4 and one["items"] == sum(1 + len(path.name) for path in every)
    done = run("zlib-1", {"file": f"{text},{tmp_path}/none,{tmp_path}/c"})
    assert f"cannot read {tmp_path}/none: No such file" in done.stderr and "by its path from here" in done.stderr


def test_what_is_named_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_bytes(b"x" * 1000)
    (tmp_path / "link").symlink_to(tmp_path / "below" / "file")
    folders = f"{tmp_path}/,{tmp_path}/below/../below,{tmp_path}//below"
    point = {"file": f"{tmp_path}/link,{tmp_path}/below/../below/file", "folder": folders}
    assert answer("zlib-1", point)["items"] == 1000
    assert [path for path, _, _ in look(point["file"], folders).files] == [tmp_path / "below" / "file"]
    assert [[block.size for block in window] for window in windows_of(COMPRESS.study.point(point))] == [[1000]]


def test_a_file_without_what_its_size_says_is_named() -> None:
    file = "/sys/kernel/mm/transparent_hugepage/enabled"
    if not Path(file).exists():
        pytest.skip("this system has no such file; those of /sys are larger than what they hold")
    done = run("zlib-1", {"file": file})
    assert done.returncode == 1 and f"{file} holds less than its size says" in done.stderr


def test_pipes_and_links_below_a_folder_are_passed_by(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    (tmp_path / "file").write_bytes(b"x" * 1000)
    one = answer("zlib-1", {"folder": str(tmp_path)})
    assert one["items"] == 1000 and one["files"] == 1 and "unreadable_files" not in one
    done = run("zlib-1", {"file": str(tmp_path / "pipe")}, timeout=20)
    assert done.returncode == 1 and "pipe is no file" in done.stderr


def test_a_file_that_changes_while_it_is_read_ends_the_run(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"line\n" * 4_000_000)
    stop = threading.Event()

    def write() -> None:
        with file.open("ab") as log:
            while not stop.wait(0.002):
                log.write(b"more\n")
                log.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        done = run("zlib-1", {"file": str(file), "window": "1", "block": "65536"})
    finally:
        stop.set()
        writer.join()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"{file} changed while it was read: measure when nothing writes to it" in done.stderr


def _result(point: Mapping[str, str], **levels: tuple[float, float, float]) -> dict[str, Any]:
    rows = [
        {
            "contender": name.replace("_", "-"),
            "kind": "variant",
            "seconds": 1.0,
            "metrics": {"ratio": ratio, "compress_mbs": pack, "decompress_mbs": unpack},
        }
        for name, (ratio, pack, unpack) in levels.items()
    ]
    return {"point": point, "rows": rows}


LINES = {
    "lz4_1": (2.0, 800.0, 4000.0),
    "isal_1": (3.0, 700.0, 1100.0),
    "zstd_19": (5.0, 4.0, 2000.0),
    "zlib_6": (4.0, 50.0, 450.0),
}


def test_a_file_that_changed_between_rows_and_levels_out_of_range_are_warned_about(tmp_path: Path) -> None:
    file = tmp_path / "a,b"
    file.write_bytes(b"before")
    point = COMPRESS.study.point({"file": str(file), "zlib-levels": "0,6,10"})
    assert "zlib-6" in COMPRESS.study.select(point)  # type: ignore[misc]
    assert not [line for line in COMPRESS.study.report(_result(point, **LINES)) if "changed" in line]  # type: ignore[misc]
    file.write_bytes(b"after it")
    lines = COMPRESS.study.report(_result(point, **LINES))  # type: ignore[misc]
    assert lines[0] == "warning: zlib has levels 1 to 9: ignored 0, 10"
    assert any(line.startswith(f"warning: {file} changed meanwhile") for line in lines)


def test_levels_that_do_not_exist_are_ignored_and_zlib_keeps_its_default() -> None:
    names, warnings = asked({"zlib-levels": "12", "zstd-levels": "3,99", "libraries": "zlib,zstd,bzip"})
    assert names == ["zlib-6", "zstd-3"]
    assert len(warnings) == 4 and "bzip is none of the libraries" in warnings[0]
    assert len(asked({})[0]) == 21


def test_where_nothing_is_left_to_compare_it_says_so() -> None:
    for point in ({"libraries": "bzip"}, {"libraries": "lz4", "lz4-levels": "2"}):
        with pytest.raises(InputError, match="nothing is left to compare"):
            COMPRESS.study.select(COMPRESS.study.point(point))  # type: ignore[misc]


def test_the_advice_is_by_what_gets_through() -> None:
    levels = [Level("fast", 2.0, 800e6, 4e9), Level("dense", 4.0, 50e6, 450e6), Level("worse", 1.9, 700e6, 4e9)]
    assert [v.name for v in frontier(levels)] == ["fast", "dense"]
    assert best_of(levels, 10e6).name == "dense"  # 40 MB/s through the link
    assert best_of(levels, 200e6).name == "fast"  # 400 MB/s
    assert best_of(levels, 500e6).name == "fast"  # 800 MB/s, held up by compressing
    assert best_of(levels, 900e6) is PLAIN
    # one after the other takes longer: 1/800 + 1/1200 s per MB
    assert levels[0].after(600e6) == pytest.approx(1 / (1 / 800e6 + 1 / 1200e6))
    assert best_of(levels, 600e6, Level.after) is PLAIN
    lines = advice(levels, 500e6)
    assert "use fast: 800 MB/s" in lines[1] and "1.60 times" in lines[1] and "compressing decides" in lines[1]
    assert len(lines) == 3
    assert (
        lines[2].strip()
        == "one after the other (compress, then write) it would be no compression: 500 MB/s, fast 444 MB/s"
    )
    assert "do not compress" in advice(levels, 900e6)[1]
    said = overview(levels)[0]
    assert "MB/s dense; up to" in said and said.endswith("faster ones no compression")


def test_what_decompresses_slowly_is_not_advised_for_reading() -> None:
    # a level may compress faster than it decompresses: ISA-L's level 0 does
    levels = [Level("slow-back", 3.0, 900e6, 300e6), Level("both-ways", 2.0, 700e6, 2e9)]
    first, *others = advice(levels, 300e6)[1:]
    assert "use slow-back: 900 MB/s" in first and "read back at 300 MB/s" in first
    assert [line.strip() for line in others] == [
        "decompressing at the other end meanwhile it would be both-ways: 600 MB/s, slow-back 300 MB/s",
        "written once and read often, decompressing while it reads, it would be both-ways: 600 MB/s, slow-back 300 MB/s",
    ]


def test_all_levels_are_listed_with_those_that_no_other_beats_marked() -> None:
    levels = [Level("dense", 4.0, 50e6, 450e6), Level("fast", 2.0, 800e6, 4e9), Level("worse", 1.9, 700e6, 3e9)]
    levels[0] = replace(levels[0], user=2.5, system=0.0125)
    assert [line.split() for line in listing(levels)[1:]] == [
        ["*", "fast", "2.00", ":", "1", "800", "MB/s", "4", "GB/s"],
        ["worse", "1.90", ":", "1", "700", "MB/s", "3", "GB/s"],
        ["*", "dense", "4.00", ":", "1", "50", "MB/s", "450", "MB/s", "2.5", "s", "user", "12.5", "ms", "system"],
    ]


@pytest.mark.parametrize(
    ("text", "speed"), [("500MB/s", 5e8), ("10Gbit/s", 1.25e9), ("1.5 GiB/s", 1.5 * 2**30), ("100mB/s", 1e8)]
)
def test_speeds_are_read(text: str, speed: float) -> None:
    assert parse_link(text) == speed


@pytest.mark.parametrize("text", ["fast", "500", "500MB", "0MB/s", "1.2.3MB/s", "-5MB/s", "9" * 400 + "MB/s"])
def test_what_is_no_speed_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="speed of a link"):
        parse_link(text)


def test_a_speed_that_may_be_of_bits_or_bytes_is_asked_for_again() -> None:
    with pytest.raises(InputError, match="may be a bit or a byte") as problem:
        parse_link("10Gb/s")
    assert "10GB/s or 10Gbit/s" in str(problem.value.hint)


def _system(folder: Path, path: Path, node: str) -> Path:
    number = path.stat().st_dev
    controller = folder / "devices" / "pci0" / "0000:01:00.0"
    disk = controller / "nvme0" / "nvme0n1"
    disk.mkdir(parents=True)
    (controller / "numa_node").write_text(f"{node}\n")
    (controller / "local_cpulist").write_text("4-7,12\n")
    (folder / "dev" / "block").mkdir(parents=True)
    (folder / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}").symlink_to(disk)
    return folder


def test_the_processors_near_a_disk_are_found(tmp_path: Path) -> None:
    found = near(tmp_path, _system(tmp_path / "two", tmp_path, "1"))
    assert found.processors == {4, 5, 6, 7, 12} and found.why == "disk nvme0n1 is near NUMA node 1"
    found = near(tmp_path, _system(tmp_path / "one", tmp_path, "-1"))
    assert found.processors is None and "nothing to choose" in found.why
    found = near(tmp_path, tmp_path / "none")
    assert found.processors is None and "nothing to choose" in found.why
    assert parse_cpulist("0\n") == [0]


def _controller(system: Path, address: str, name: str, node: int) -> Path:
    """A controller of a disk at its place on the bus."""
    at = system / "devices" / "pci0000:00" / address
    (at / "nvme" / name).mkdir(parents=True)
    (at / "numa_node").write_text(f"{node}\n")
    (at / "local_cpulist").write_text(f"{8 * node}-{8 * node + 7}\n")
    return at / "nvme" / name


def _known_as(system: Path, number: int, device: Path) -> Path:
    (system / "dev" / "block").mkdir(parents=True, exist_ok=True)
    (system / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}").symlink_to(device)
    return system


def test_a_disk_with_several_controllers_is_near_the_node_of_its_controllers(tmp_path: Path) -> None:
    # as the kernel has it with native NVMe multipath: the disk is virtual, links lead to the controllers
    system = tmp_path / "sys"
    group = system / "devices" / "virtual" / "nvme-subsystem" / "nvme-subsys4"
    (group / "nvme4n1" / "nvme4n1p2").mkdir(parents=True)
    (group / "nvme4n1" / "nvme4n1p2" / "partition").write_text("2\n")
    (group / "nvme7").symlink_to(_controller(system, "0000:3c:00.0", "nvme7", 1))
    found = near(tmp_path, _known_as(system, tmp_path.stat().st_dev, group / "nvme4n1" / "nvme4n1p2"))
    assert found.processors == set(range(8, 16)) and found.why == "disk nvme7 is near NUMA node 1"


@pytest.mark.parametrize("nodes", [(1, 1), (0, 1)])
def test_a_volume_is_near_the_node_of_its_disks(tmp_path: Path, nodes: tuple[int, int]) -> None:
    system = tmp_path / "sys"
    volume = system / "devices" / "virtual" / "block" / "dm-0"
    (volume / "slaves").mkdir(parents=True)
    for i, node in enumerate(nodes):
        disk = _controller(system, f"0000:0{i + 1}:00.0", f"nvme{i}", node) / f"nvme{i}n1"
        (disk / f"nvme{i}n1p3").mkdir(parents=True)
        (disk / f"nvme{i}n1p3" / "partition").write_text("3\n")
        (volume / "slaves" / f"nvme{i}n1p3").symlink_to(disk / f"nvme{i}n1p3")
    found = near(tmp_path, _known_as(system, tmp_path.stat().st_dev, volume))
    if nodes == (1, 1):
        assert found.processors == set(range(8, 16)) and "nvme0n1p3, nvme1n1p3 is near NUMA node 1" in found.why
    else:
        assert found.processors is None and "of NUMA nodes 0 and 1: nothing to choose" in found.why


def test_a_filesystem_with_device_numbers_of_its_own_is_found_by_what_is_mounted(tmp_path: Path) -> None:
    # as of btrfs: the number of a file's device is none that /sys knows; /dev/null stands for the disk that is mounted
    system = tmp_path / "sys"
    disk = _controller(system, "0000:01:00.0", "nvme0", 1) / "nvme0n1"
    disk.mkdir()
    _known_as(system, Path("/dev/null").stat().st_rdev, disk)
    mounts = tmp_path / "mountinfo"
    folder = tmp_path / "my data"
    folder.mkdir()
    point = str(folder).replace(" ", "\\040")
    mounts.write_text(
        "27 1 0:25 / / rw,relatime - overlay overlay rw\n"
        f"43 27 0:31 /@home {point} rw,noatime shared:32 - btrfs /dev/null rw,space_cache=v2,subvol=/@home\n"
    )
    assert near(folder, system, mounts).processors == set(range(8, 16))
    assert near(tmp_path, system, mounts).processors is None
