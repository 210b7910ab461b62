# SPDX-License-Identifier: BSD-3-Clause
"""What only this study has to hold: nothing stays behind, space is looked at first, projections are what they say."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.studies.commands import native_contenders, script_contenders, worker_command
from nodewise.studies.discovery import find_study
from nodewise_studies.fileio.files import nameless
from nodewise_studies.fileio.projection import advise, filesystem_of, project, report
from nodewise_studies.fileio.staging import stage, stage_lines

FILEIO = find_study("fileio")
NAMES = [c.name for c in native_contenders(FILEIO, {}) if c.kind == "variant"]


def run(variant: str, **knobs: str) -> subprocess.CompletedProcess[str]:
    command = worker_command(FILEIO, variant, FILEIO.study.point(knobs))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_ways_are_asked_for() -> None:
    assert FILEIO.study.select is not None
    every = FILEIO.study.select({"variants": "all"})
    assert set(NAMES) <= set(every)
    for variants in ("fast", "element", "row", "whole", "formatted", "unformatted", "chunked"):
        chosen = FILEIO.study.select({"variants": variants})
        assert "memory" in chosen and 3 < len(chosen) < len(every)
    assert FILEIO.study.select({"variants": "chunked"})[0] == "chunked-row"


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_stays_after_a_kill(kill: signal.Signals, tmp_path: Path) -> None:
    command = worker_command(FILEIO, "write-element", FILEIO.study.point({"folders": str(tmp_path), "kib": "8192"}))
    # whoever starts the tests may ignore SIGINT, as nohup's shell does, and a child would, too
    before = None if kill == signal.SIGKILL else signal.signal(kill, signal.SIG_DFL)
    try:
        process = subprocess.Popen([*command, "--repeat", "50"], stdout=subprocess.DEVNULL)
    finally:
        if before is not None:
            signal.signal(kill, before)
    descriptors = Path(f"/proc/{process.pid}/fd")
    deadline = time.monotonic() + 20
    seen = False  # once: between two of its files there is none
    while not seen and time.monotonic() < deadline:
        seen = any(str(tmp_path) in _target(d) for d in descriptors.iterdir())
        time.sleep(0.01)
    assert seen
    assert list(tmp_path.iterdir()) == []
    process.send_signal(kill)
    assert process.wait() == -kill
    assert list(tmp_path.iterdir()) == []


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


@pytest.mark.some(2)
@pytest.mark.parametrize("peer", ["fio-write-element", "h5py-chunked-row"])
def test_nothing_stays_after_a_peer_is_killed(peer: str, tmp_path: Path) -> None:
    point = FILEIO.study.point({"folders": str(tmp_path), "kib": "65536"})
    found = next(c for c in script_contenders(FILEIO, point) if c.name == peer)
    if found.not_run:
        pytest.skip(found.not_run)
    process = subprocess.Popen(
        found.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and not _open_below(tmp_path):
        time.sleep(0.002)
    assert process.poll() is None and _open_below(tmp_path)
    assert list(tmp_path.iterdir()) == []
    process.kill()
    process.wait()
    assert list(tmp_path.iterdir()) == []
    # a program that the peer has started ends by itself; it need not be waited for
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _open_below(folder: Path) -> bool:
    for process in Path("/proc").iterdir():
        # others end meanwhile
        with suppress(OSError):
            if process.name.isdigit() and any(str(folder) in _target(link) for link in (process / "fd").iterdir()):
                return True
    return False


def _peer(name: str) -> Any:
    return import_module(f"nodewise_studies.fileio.peers.{name}")


@pytest.mark.parametrize("nested", [False, True])
def test_what_ior_says_is_understood(nested: bool) -> None:
    """As IOR's sources print it: version 3.2 has a list within the list of results."""
    result = """{
        "access": "write",
        "bwMiB": 1234.5678,
        "blockKiB": 4096.0000,
        "xferKiB": 8.0000,
        "openTime": 0.0001,
        "wrRdTime": 0.0031,
        "closeTime": 0.0000,
        "totalTime": 0.0032
      }
"""
    listed = f"[ {result} ]" if nested else result
    said = f"""{{
  "Version": "3.3.0",
  "Command line": "ior -a POSIX -E -k -t 8192 -b 4194304 -w -e -o /proc/self/fd/3 -O summaryFormat=JSON",
  "tests": [
    {{
      "TestID": 0,
      "Parameters": {{ "api": "POSIX", "transferSize": 8192, "blockSize": 4194304 }},
      "Options": {{ "api": "POSIX", "tasks": 1 }},
      "Results": [
{listed}]
    }}
  ]
}}
"""
    ior = _peer("ior")
    assert ior.seconds_of(said, "write", 4194304) == 0.0032
    with pytest.raises(ValueError):
        ior.seconds_of(said, "read", 4194304)
    with pytest.raises(ValueError):
        ior.seconds_of(said, "write", 4194312)
    with pytest.raises(ValueError):
        ior.seconds_of("ior: command failed", "write", 4194304)


def test_what_fio_says_is_understood() -> None:
    """As fio 3.33 prints it: warnings may come first, and times are in milliseconds."""
    said = """fio: this platform does not support process shared mutexes
{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "nodewise", "error" : 0, "elapsed" : 1, "job_runtime" : 52,
      "usr_cpu" : 25.000000, "sys_cpu" : 60.000000,
      "read" : { "io_bytes" : 0, "io_kbytes" : 0, "bw" : 0, "runtime" : 0 },
      "write" : { "io_bytes" : 4194304, "io_kbytes" : 4096, "bw" : 81920, "runtime" : 50 }
    }
  ]
}
"""
    fio = _peer("fio")
    assert fio.times_of(said, "write", 4194304) == pytest.approx((0.050, 0.013))
    # the last part of a request that was not done
    assert fio.times_of(said, "write", 8388608) == pytest.approx((0.100, 0.026))
    # shorter than its clock's step
    short = said.replace('"runtime" : 50', '"runtime" : 0')
    assert fio.times_of(short, "write", 4194304)[0] == pytest.approx(0.001)
    for wrong in (said.replace('"error" : 0', '"error" : 28'), "fio: engine io_uring not loadable", "{}"):
        with pytest.raises((ValueError, LookupError)):
            fio.times_of(wrong, "write", 4194304)
    with pytest.raises(ValueError):
        fio.times_of(said, "read", 4194304)


def test_ior_writes_all_in_whole_requests() -> None:
    data = np.zeros(1000)
    words = _peer("ior").prepare({"data": data}, {"contender": "ior-write-row", "row": "300"}, 1)["words"]
    assert words[words.index("-t") + 1] == "800" and words[words.index("-b") + 1] == "8000"


def test_hdf5_has_the_array_in_the_chunks_asked_for(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    peer = _peer("hdf5")
    data = np.arange(1000.0)
    point = {"contender": "h5py-chunked-chunk", "row": "70", "chunk": "16", "fsync": "no"}
    state = peer.prepare({"data": data}, point, 1)
    with nameless(str(tmp_path)) as descriptor:
        peer._write(state, descriptor)
        with os.fdopen(os.dup(descriptor), "rb", buffering=0) as raw, h5py.File(raw, "r") as file:
            assert file["data"].chunks == (15, 16) and file["data"].shape == (15, 70)
            assert np.array_equal(file["data"][:].ravel()[:1000], data)


def test_hdf5_looks_at_the_space_that_whole_chunks_take(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    peer = _peer("hdf5")
    peer._has_space([str(tmp_path)], free // 2)
    with pytest.raises(SystemExit, match="are needed"):
        peer._has_space([str(tmp_path)], free)


def test_files_lie_in_the_folders_named_and_nowhere_else(tmp_path: Path) -> None:
    log = tmp_path / "log"
    folder = tmp_path / "here"
    folder.mkdir()
    trace = ["strace", "-f", "-e", "trace=open,openat,creat,mkdir,rename,link,symlink", "-o", str(log)]
    command = worker_command(FILEIO, "fortran-formatted-row", FILEIO.study.point({"folders": str(folder), "kib": "1"}))
    try:
        subprocess.run([*trace, *command], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("strace is not installed")
    except subprocess.CalledProcessError as problem:
        pytest.skip(f"cannot be traced, or no Fortran: {problem.stderr[-100:]!r}")
    writing = [line for line in log.read_text().splitlines() if "O_WRONLY" in line or "O_RDWR" in line]
    opened = [line.split('"')[1] for line in writing if '"' in line and " = -1" not in line]
    assert opened
    allowed = (str(folder), "/proc/self/fd/", "/dev/null", "/dev/tty", "/sys/", "/proc/")
    assert [path for path in opened if not path.startswith(allowed)] == []


@pytest.mark.parametrize("name", ["mmap-whole", "mmap-ahead-whole"])
def test_a_page_that_is_lost_gets_one_message(name: str, tmp_path: Path) -> None:
    """As where the disk fills: a mapping's page cannot be had, which is a signal and no error of a call."""
    point = FILEIO.study.point({"folders": str(tmp_path), "kib": "65536", "fsync": "no"})
    command = worker_command(FILEIO, name, point)
    process = subprocess.Popen(
        [*command, "--repeat", "50"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        for link in Path(f"/proc/{process.pid}/fd").iterdir():
            with suppress(OSError):
                # what is long already is being copied to
                if str(tmp_path) in _target(link) and link.stat().st_size == 65536 * 1024:
                    os.truncate(link, 0)
    _, said = process.communicate()
    assert process.returncode == 1
    assert said.splitlines() == ["nodewise-worker: mmap-whole: the disk is full, or a page of the file cannot be read"]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("fortran-")])
def test_a_full_disk_is_reported_by_fortran(name: str, tmp_path: Path) -> None:
    """Its own library says nothing: a limit on a file's size stands for the disk's."""
    point = FILEIO.study.point({"folders": str(tmp_path), "kib": "256"})
    limited = ["prlimit", f"--fsize={64 * 1024}", "env", "--ignore-signal=XFSZ", *worker_command(FILEIO, name, point)]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and f"{name} on {tmp_path}: " in done.stderr


def test_space_is_looked_at_first(tmp_path: Path) -> None:
    done = run("write-whole", folders=str(tmp_path), kib=str(2**30))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "free" in done.stderr or "memory" in done.stderr
    missing = run("write-whole", folders=str(tmp_path / "none"), kib="1")
    assert missing.returncode == 1 and "no folder" in missing.stderr


@pytest.mark.parametrize(
    "variants", ["c-formatted-whole", "write-row", "direct-whole", "uring-direct-whole", "chunked-chunk"]
)
def test_each_folder_is_reported(variants: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    answer = json.loads(run(variants, folders=f"{tmp_path}/one:{tmp_path}/two", kib="100", row="7").stdout)
    assert answer["items"] == 2 * 100 * 1024
    assert answer["seconds"] == pytest.approx(answer["f1_seconds"] + answer["f2_seconds"])
    assert answer["small_bytes"] < answer["middle_bytes"] < 100 * 1024


@pytest.mark.parametrize("op", ["read", "write"])
def test_the_end_of_a_mapping_is_reported_as_part_of_its_time(op: str) -> None:
    answer = json.loads(run("mmap-whole", kib="4096", op=op).stdout)
    assert 0 < answer["f1_unmapping_seconds"] < answer["f1_seconds"]
    assert "f1_unmapping_seconds" not in json.loads(run("write-whole", kib="256").stdout)


_AGAIN = ["write-element", "write-row", "direct-whole", "mmap-whole", "mmap-ahead-whole", "uring-whole"]


@pytest.mark.parametrize("name", [*_AGAIN, "uring-direct-whole"])
@pytest.mark.parametrize(("kib", "op"), [("301", "write"), ("300", "read")])
def test_one_block_of_memory_is_moved_again_and_again(name: str, kib: str, op: str, tmp_path: Path) -> None:
    """What was read into it is what came last; a block that is written wrong is seen by whoever reads the file."""
    if name not in NAMES:
        pytest.skip("built without liburing")
    done = run(name, kib=kib, op=op, block="16", depth="2", memory="block", folders=str(tmp_path))
    assert done.returncode == 0 and json.loads(done.stdout)["verified"] is True, done.stderr
    uneven = run(name, kib="300", row="500", memory="block", folders=str(tmp_path))
    assert uneven.returncode == 1 and "rows of 512" in uneven.stderr


@pytest.mark.long
def test_text_is_made_in_user_mode() -> None:
    text = json.loads(run("c-formatted-row", kib="4096", fsync="no").stdout)
    raw = json.loads(run("write-whole", kib="4096", fsync="no").stdout)
    # not by the time on a clock, of which others may have taken any part
    assert text["f1_user_seconds"] > 5 * raw["f1_user_seconds"] + 0.02
    # the clocks of the two have different steps
    assert text["f1_user_seconds"] < 1.2 * text["f1_seconds"] + 0.01


@pytest.mark.long
def test_a_mapping_larger_than_the_last_cache_is_read_right() -> None:
    said = subprocess.run(["getconf", "LEVEL3_CACHE_SIZE"], capture_output=True, text=True, check=False).stdout.strip()
    cache = (int(said) if said.isdigit() else 0) or 32 << 20
    done = run("mmap-ahead-whole", kib=str(cache // 1024 + 33), op="read", cache="keep")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verified"] is True


def test_the_page_cache_is_reported() -> None:
    kept = json.loads(run("write-whole", kib="256", op="read", cache="keep").stdout)
    assert kept["cached"] == pytest.approx(1)


def test_projections_say_what_is_measured() -> None:
    points = [(1e6, 0.1), (4e6, 0.25), (16e6, 0.85)]
    assert project(points, 4e6).measured and project(points, 4e6).seconds == 0.25
    between = project(points, 10e6)
    assert not between.measured and between.seconds == pytest.approx(0.55)
    beyond = project(points, 1e9)
    assert not beyond.measured and beyond.seconds == pytest.approx(0.05 + 50)
    assert str(beyond).endswith("*") and not str(project(points, 1e6)).endswith("*")


def test_a_projection_never_falls() -> None:
    assert project([(1e5, 0.010), (1e6, 0.009)], 1e9).seconds == pytest.approx(9.0)
    assert project([(1e6, 0.001)], 1e9).seconds == pytest.approx(1.0)
    assert project([(1e6, 0.001), (2e6, 0.004)], 4e6).seconds > 0.004


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:25 / /mnt/a\\040b rw,nosuid - xfs /dev/vdb rw,noquota
31 22 0:26 / /mnt rw - tmpfs tmpfs rw,size=1k
"""


def test_a_filesystem_is_that_of_the_longest_mount() -> None:
    assert (filesystem_of("/usr", MOUNTS).kind, filesystem_of("/usr", MOUNTS).options) == (
        "ext4",
        "rw,relatime,discard",
    )
    assert filesystem_of("/mnt/a b/c", MOUNTS).kind == "xfs"
    assert filesystem_of("/mnt/ab", MOUNTS).kind == "tmpfs"


def _row(name: str, kind: str, seconds: float) -> dict[str, Any]:
    metrics = {
        "small_bytes": 1e6,
        "middle_bytes": 4e6,
        "f1_small_seconds": seconds / 16,
        "f1_middle_seconds": seconds / 4,
        "f1_seconds": seconds,
        "cached": 0.0,
    }
    if kind == "peer":
        metrics = {"f1_seconds": seconds}
    return {"contender": name, "kind": kind, "seconds": seconds, "metrics": metrics}


def test_a_filesystem_gets_a_recommendation(tmp_path: Path) -> None:
    rows = [
        _row("write-whole", "variant", 0.1),
        _row("c-formatted-element", "variant", 9.0),
        _row("fio-write-whole", "peer", 0.11),
    ]
    point = {"folders": str(tmp_path), "op": "write", "fsync": "no"}
    result = {"point": point, "work": {"items": 16e6}, "rows": rows, "blocks": 6}
    text = "\n".join(advise(result))
    assert "take write-whole on" in text and "90.0 times as long" in text
    assert "for what was measured" in text and "if it has to be text, c-formatted-element" in text
    text = "\n".join(report(result))
    assert "take" not in text
    assert "write-whole: 1.10 times the rate of fio on the same pattern: within 10%" in text
    assert "page cache" in text or "in memory" in text
    assert "no io_uring rows" in text and "no Fortran rows" in text
    assert "of fio" not in "\n".join(report({**result, "blocks": 5}))
    nothing = {"point": point, "work": {"items": 16e6}, "rows": []}
    assert report(nothing) == [] and advise(nothing) == []


def test_a_way_by_a_faster_filesystem_is_told_where_it_gains() -> None:
    disk = {
        "c-unformatted-element": 100.0,
        "c-formatted-element": 200.0,
        "c-unformatted-whole": 4.0,
        "uring-whole": 4.0,
    }
    memory = {
        "c-unformatted-element": 6.0,
        "c-formatted-element": 150.0,
        "c-unformatted-whole": 0.5,
        "uring-whole": 0.1,
    }
    assert [(s.variant, s.through) for s in stage(disk, memory)] == [
        ("c-unformatted-element", 10.0),
        ("c-formatted-element", 163.0),
    ]
    assert stage(memory, disk) == [] and stage({"c-formatted-element": 9.0}, memory) == []
    [line] = stage_lines([("/disk", disk), ("/dev/shm", memory)], "1 GB")
    assert line.startswith("/disk: for 1 GB, c-unformatted-element is 10.0 times as fast by way of /dev/shm")
    assert "1 other way gains" in line


def test_far_from_what_was_measured_the_measured_order_counts(tmp_path: Path) -> None:
    slow = _row("write-whole", "variant", 0.2)
    fast = _row("direct-whole", "variant", 0.1)
    # what a fit makes of times that fall with the size
    slow["metrics"] = {**slow["metrics"], "f1_small_seconds": 0.19, "f1_middle_seconds": 0.195}
    rows = {"point": {"folders": str(tmp_path)}, "work": {"items": 16e6}, "rows": [slow, fast]}
    assert any("take direct-whole" in line for line in advise(rows))
