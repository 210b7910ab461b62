# SPDX-License-Identifier: BSD-3-Clause
"""Files that are empty, tiny, unreadable, changing or larger than a window, at every level; and what is advised."""

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.base.errors import InputError
from nodewise.studies.commands import native_contenders, work_of
from nodewise.studies.compress.advice import PLAIN, Level, advice, best_of, frontier, overview, parse_link
from nodewise.studies.compress.disk import near, parse_cpulist
from nodewise.studies.compress.files import block_sizes, look
from nodewise.studies.compress.levels import LEVELS, asked
from nodewise.studies.discovery import find_study

COMPRESS = find_study("compress")
EVERY = [c for c in native_contenders(COMPRESS, {}) if c.not_run is None]
NOBODY = 65534


def run(name: str, point: Mapping[str, str], *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    contender = next(c for c in native_contenders(COMPRESS, COMPRESS.study.point(point)) if c.name == name)
    return subprocess.run([*contender.command, *options], capture_output=True, text=True, check=False, **more)


def told(name: str, point: Mapping[str, str], *options: str) -> dict[str, Any]:
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


@pytest.mark.parametrize("name", [c.name for c in EVERY])
def test_every_level_brings_edge_files_back(name: str, edges: Path) -> None:
    one = told(name, {"folder": str(edges)}, "--threads", "1")
    assert one["verified"] is True and one["files"] == 7
    assert one["items"] == 1 + 65535 + 65536 + 65537 + 200_003 + 3_000_000
    assert 2 < one["ratio"] < 17
    # in small blocks and windows of 1 MiB, by more threads
    point = {"folder": str(edges), "block": "65537", "window": "1"}
    assert told(name, point, "--threads", "3")["items"] == one["items"]


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
    ],
)
def test_the_blocks_that_python_knows_are_those_of_the_worker(edges: Path, point: dict[str, str]) -> None:
    point = {**point, "folder": str(edges)} if "folder" in point else point
    sizes = block_sizes(COMPRESS.study.point(point))
    assert sum(sizes) == told("zlib-1", point)["items"]
    assert max(sizes) <= int(point.get("block", 16 << 20))


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


def test_incompressible_bytes_grow_by_little(tmp_path: Path) -> None:
    file = tmp_path / "random"
    file.write_bytes(np.random.default_rng(1).bytes(1 << 20))
    for contender in EVERY:
        assert told(contender.name, {"file": str(file)})["ratio"] > (0.5 if contender.name == "isal-0" else 0.9)


def test_time_is_that_of_the_library_alone(tmp_path: Path) -> None:
    one = told("zlib-1", {"kind": "text", "size": "1000000"})
    assert one["seconds"] == pytest.approx(1 / one["compress_mbs"])
    assert one["user_s"] + one["system_s"] < 3 * (one["seconds"] + 1 / one["decompress_mbs"]) + 0.02


def test_a_file_larger_than_the_window_is_streamed_in_bounded_memory(tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(np.random.default_rng(2).integers(0, 4, 96 << 20, np.uint8).tobytes())
    contender = next(c for c in EVERY if c.name in ("lz4-1", "zlib-1"))
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
        assert told("zlib-6", {"folder": str(tmp_path)})["unreadable_files"] == 2
        assert look("", str(tmp_path)).left_out == (str(tmp_path / "closed"), str(tmp_path / "secret"))
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_what_python_sees_of_files_is_what_the_worker_sees(edges: Path) -> None:
    seen = look("", str(edges))
    assert len(seen.files) == 7 and seen.left_out == ()
    assert sum(size for _, size, _ in seen.files) == told("zlib-1", {"folder": str(edges)})["items"]


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
    assert not [line for line in COMPRESS.study.tell(_result(point, **LINES)) if "changed" in line]  # type: ignore[misc]
    file.write_bytes(b"after it")
    lines = COMPRESS.study.tell(_result(point, **LINES))  # type: ignore[misc]
    assert lines[0] == "warning: zlib has levels 1 to 9: ignored 0, 10"
    assert any(line.startswith(f"warning: {file} changed meanwhile") for line in lines)


def test_levels_that_do_not_exist_are_ignored_and_zlib_keeps_its_default() -> None:
    names, warnings = asked({"zlib-levels": "12", "zstd-levels": "3,99", "libraries": "zlib,zstd,bzip"})
    assert names == ["zlib-6", "zstd-3"]
    assert len(warnings) == 4 and "bzip is none of the libraries" in warnings[0]
    assert len(asked({})[0]) == 21


def test_the_advice_is_by_what_gets_through() -> None:
    levels = [Level("fast", 2.0, 800e6, 4e9), Level("dense", 4.0, 50e6, 450e6), Level("worse", 1.9, 700e6, 4e9)]
    assert [v.name for v in frontier(levels)] == ["fast", "dense"]
    assert best_of(levels, 10e6).name == "dense"  # 40 MB/s through the link
    assert best_of(levels, 200e6).name == "fast"  # 400 MB/s
    assert best_of(levels, 500e6).name == "fast"  # 800 MB/s, held up by compressing
    assert best_of(levels, 900e6) is PLAIN
    # one after the other takes longer: 1/800 + 1/1200 s per MB
    assert levels[0].through(600e6, overlapped=False) == pytest.approx(1 / (1 / 800e6 + 1 / 1200e6))
    assert best_of(levels, 600e6, overlapped=False) is PLAIN
    lines = advice(levels, 500e6)
    assert "use fast: 800 MB/s" in lines[1] and "1.60 times" in lines[1] and "compressing decides" in lines[1]
    assert "one after the other" in lines[2] and "no compression" in lines[2]
    assert "do not compress" in advice(levels, 900e6)[1]
    said = overview(levels)[0]
    assert "MB/s dense; up to" in said and said.endswith("faster ones no compression")


@pytest.mark.parametrize(
    ("text", "speed"), [("500MB/s", 5e8), ("10Gbit/s", 1.25e9), ("1.5 GiB/s", 1.5 * 2**30), ("100mb/s", 1e8)]
)
def test_speeds_are_read(text: str, speed: float) -> None:
    assert parse_link(text) == speed


@pytest.mark.parametrize("text", ["fast", "500", "500MB", "0MB/s", "1.2.3MB/s", "-5MB/s"])
def test_what_is_no_speed_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="speed of a link"):
        parse_link(text)


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
    assert found.processors == {4, 5, 6, 7, 12} and found.why == "disk nvme0n1 is near memory node 1"
    found = near(tmp_path, _system(tmp_path / "one", tmp_path, "-1"))
    assert found.processors is None and "nothing to choose" in found.why
    found = near(tmp_path, tmp_path / "none")
    assert found.processors is None and "nothing to choose" in found.why
    assert parse_cpulist("0\n") == [0]
