# SPDX-License-Identifier: BSD-3-Clause
"""What is acknowledged is there, whenever the store is killed; torn logs; the locks and the checksum.

NODEWISE_KILLS says how often the store is killed.
"""

import ctypes
import itertools
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.base.errors import InputError
from nodewise.studies.commands import native_contenders, worker_command
from nodewise.studies.discovery import find_study
from nodewise.studies.libraries import find_library
from tests.compiled import compiled

STORE = find_study("store")
KILLS = int(os.environ.get("NODEWISE_KILLS", "25"))
LMDB = str(find_library(STORE.study.libraries["lmdb"]) or "")
LOCKS = [c.name for c in native_contenders(STORE, {}) if c.kind == "variant" and c.not_run is None]


# Counts what waits for the disk.
_SYNCS = r"""
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static int syncs;
extern "C" int fdatasync(int fd) { ++syncs; return syscall(SYS_fdatasync, fd); }
extern "C" int fsync(int fd) { ++syncs; return syscall(SYS_fsync, fd); }
extern "C" int msync(void* at, size_t size, int how) { ++syncs; return syscall(SYS_msync, at, size, how); }
__attribute__((destructor)) static void tell() { fprintf(stderr, "syncs %d\n", syncs); }
"""


def recovered(log: Path) -> list[int] | None:
    """The requests in a log, by the store's own recovery; None where it cannot be read."""
    library = ctypes.CDLL(str(STORE.binary))
    recover = library.nodewise_store_recover
    recover.restype = ctypes.c_int64
    recover.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64]
    count = recover(str(log).encode(), None, 0)
    if count < 0:
        return None
    requests = np.zeros(count, np.uint64)
    assert recover(str(log).encode(), requests.ctypes.data, count) == count
    return [int(r) for r in requests]


def inputs_of(point: dict[str, str], folder: Path) -> dict[str, np.ndarray]:
    """The requests of a point, as the worker makes them."""
    command = [*worker_command(STORE, "spin", STORE.study.point({**point, "sync": "none"})), "--dump", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return {p.stem: np.load(p) for p in folder.glob("*.npy")}


class Killed:
    """A store that was killed a while after it began, and what it had acknowledged by then."""

    def __init__(self, variant: str, point: dict[str, str], folder: Path, threads: int, delay_s: float) -> None:
        read, write = os.pipe()
        knobs = {**point, "folder": str(folder), "keep": "log", "acknowledge": str(write)}
        command = [*worker_command(STORE, variant, STORE.study.point(knobs)), "--threads", str(threads)]
        process = subprocess.Popen(command, pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        data = bytearray(os.read(read, 8))  # it has begun
        killer = threading.Timer(delay_s, process.send_signal, (signal.SIGKILL,))
        killer.start()
        while part := os.read(read, 1 << 16):
            data += part
        os.close(read)
        process.wait()
        killer.join()
        requests = np.frombuffer(bytes(data), np.int64)
        begins = np.flatnonzero(requests == -1)
        self.runs = begins.size
        self.acknowledged = set(requests[begins[-1] + 1 :].tolist())
        self.by_kill = process.returncode == -signal.SIGKILL
        self.log = folder / "log"


def test_all_that_is_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    pick = random.Random(7)
    base = {"requests": "300000", "accounts": "1000", "queries": "20", "record": "200"}
    inputs = inputs_of(base, tmp_path)
    account, amount, start = inputs["account"], inputs["amount"], inputs["start"]
    covered = np.flatnonzero((amount != 0) & (start[account] >= amount))
    seen, killed = 0, 0
    for number in range(KILLS):
        threads = pick.choice((1, 2, 5))
        point = {**base, "batch": pick.choice(("1", "16", "256")), "compress": pick.choice(("none", "zlib"))}
        point["sync"] = pick.choice(("fdatasync", "fdatasync", "fsync", "none"))
        done = Killed(pick.choice(LOCKS), point, tmp_path, threads, pick.uniform(0, 0.25))
        there = recovered(done.log) if done.log.exists() else []
        assert there is not None, (number, point)
        missing = done.acknowledged - set(there)
        assert not missing, (number, point, threads, sorted(missing)[:5])
        # each thread's debits are there without a gap and once: money is neither lost nor taken twice
        bounds = [len(amount) * t // threads for t in range(threads + 1)]
        for low, high in itertools.pairwise(bounds):
            part = [r for r in there if low <= r < high]
            want = covered[(covered >= low) & (covered < high)][: len(part)].tolist()
            assert part == want, (number, point, threads)
        seen += len(done.acknowledged)
        killed += done.by_kill
    sys.stderr.write(f"{KILLS} kills, {killed} in time; {seen} acknowledged, none missing\n")
    assert killed > KILLS // 2 and seen > 0


@pytest.mark.some(2)
@pytest.mark.parametrize("compress", ["none", "zlib"])
def test_a_torn_or_changed_log_is_used_up_to_where_it_is_whole(compress: str, tmp_path: Path) -> None:
    point = {"requests": "400", "accounts": "20", "queries": "0", "batch": "16", "keep": "log", "compress": compress}
    command = worker_command(STORE, "mutex", STORE.study.point({**point, "folder": str(tmp_path), "sync": "none"}))
    subprocess.run([*command, "--threads", "1"], check=True, capture_output=True)
    log = tmp_path / "log"
    whole, all_there = log.read_bytes(), recovered(log)
    assert all_there is not None and len(all_there) > 300 and len(set(all_there)) == len(all_there)
    torn = tmp_path / "torn"
    pick = random.Random(3)
    lengths = set()
    for _ in range(200):
        torn.write_bytes(whole[: pick.randrange(len(whole))])
        there = recovered(torn)
        assert there is not None and there == all_there[: len(there)]
        lengths.add(len(there))
        changed = bytearray(whole)
        changed[pick.randrange(len(whole))] ^= 1 << pick.randrange(8)
        torn.write_bytes(changed)
        there = recovered(torn)
        assert there is not None and there == all_there[: len(there)] and len(there) < len(all_there)
    assert len(lengths) > 10
    torn.write_bytes(whole + b"\0" * 5000)
    assert recovered(torn) == all_there
    assert recovered(tmp_path / "none") is None


def test_a_log_without_a_name_leaves_nothing(tmp_path: Path) -> None:
    point = {"requests": "300000", "queries": "0", "batch": "1", "folder": str(tmp_path)}
    process = subprocess.Popen(worker_command(STORE, "spin", STORE.study.point(point)), stdout=subprocess.DEVNULL)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    assert list(tmp_path.iterdir()) == []
    process.kill()
    process.wait()
    assert list(tmp_path.iterdir()) == []


def test_groups_grow_with_the_batch(tmp_path: Path) -> None:
    groups = []
    for batch in ("1", "100"):
        point = {"requests": "2000", "queries": "0", "batch": batch, "sync": "none", "folder": str(tmp_path)}
        command = [*worker_command(STORE, "spin", STORE.study.point(point)), "--threads", "1"]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        groups.append(answer["groups"])
        assert answer["p50_us"] <= answer["p99_us"]
    assert groups[1] <= groups[0] / 50


def test_compression_makes_the_log_smaller(tmp_path: Path) -> None:
    point = {"requests": "5000", "queries": "0", "sync": "none", "compress": "zlib", "folder": str(tmp_path)}
    command = worker_command(STORE, "spin", STORE.study.point(point))
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert answer["log_ratio"] > 2


def _logged(compress: str, folder: Path) -> bytes:
    """The first group of the log of debits, as it is stored, once it was replayed right."""
    point = {"requests": "400", "accounts": "20", "queries": "0", "sync": "none", "batch": "1000000", "keep": "log"}
    words = worker_command(STORE, "spin", STORE.study.point({**point, "compress": compress, "folder": str(folder)}))
    done = subprocess.run([*words, "--threads", "1"], capture_output=True, text=True, check=False)
    if "has no AVX2" in done.stderr:
        pytest.skip("this processor has no AVX2")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["verified"] is True and answer["compress_mb_per_s"] > 0 and answer["log_ratio"] > 1.5
    return (folder / "log").read_bytes()


def test_with_and_without_avx2_the_log_is_the_same_and_lz4_reads_it(tmp_path: Path) -> None:
    plain, wide = (_logged(name, tmp_path) for name in ("own", "own-avx2"))
    assert plain == wide
    # LZ4 by itself, on the group behind its head of 40 bytes: checksum, mark, number, codec, records, raw, stored
    codec, _, raw, stored = np.frombuffer(plain[16:32], np.uint32)
    assert codec == 2 and stored == len(plain) - 32
    lz4 = ctypes.CDLL("liblz4.so.1")
    made = ctypes.create_string_buffer(int(raw))
    assert lz4.LZ4_decompress_safe(plain[32:], made, int(stored), int(raw)) == raw
    (tmp_path / "raw").mkdir()
    point = {"requests": "400", "accounts": "20", "queries": "0", "sync": "none", "batch": "1000000", "keep": "log"}
    words = worker_command(STORE, "spin", STORE.study.point({**point, "folder": str(tmp_path / "raw")}))
    subprocess.run([*words, "--threads", "1"], check=True, capture_output=True)
    assert made.raw == (tmp_path / "raw" / "log").read_bytes()[32:]


@pytest.fixture(scope="module")
def pack() -> Any:
    library = ctypes.CDLL(str(STORE.binary))
    lz4 = ctypes.CDLL("liblz4.so.1")

    def packed(data: bytes, way: int) -> bytes:
        room = ctypes.create_string_buffer(len(data) + len(data) // 255 + 16)
        size = library.nodewise_store_pack(data, ctypes.c_size_t(len(data)), room, way)
        if size == 0:
            pytest.skip("this processor has no AVX2")
        back = ctypes.create_string_buffer(max(1, len(data)))
        assert lz4.LZ4_decompress_safe(room.raw[:size], back, size, len(data)) == len(data)
        assert back.raw[: len(data)] == data
        return room.raw[:size]

    return packed


def test_what_is_packed_by_either_way_lz4_expands(pack: Any) -> None:
    numbers = np.random.default_rng(5)
    cases = [b"", b"a", b"abcd" * 4, b"x" * 12, b"x" * 13, b"x" * 5000, numbers.bytes(70000)]
    for _ in range(300):
        size = int(numbers.integers(1, 3000))
        letters = numbers.integers(0, int(numbers.integers(2, 40)), size).astype(np.uint8).tobytes()
        cases.append(letters + letters[: size // 2] * int(numbers.integers(1, 4)) + numbers.bytes(size % 40))
    # matches as far as the format goes, and farther
    cases += [numbers.bytes(100) + bytes(k) + b"end" for k in (0, 1)]
    far = numbers.bytes(64)
    cases += [far + numbers.bytes(gap) + far + b"0123456789abcdef" for gap in (65535 - 64, 65536 - 64, 70000)]
    for data in cases:
        assert pack(data, 0) == pack(data, 1)


def test_the_log_goes_to_several_folders_in_one_run(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    folders = f"{tmp_path / 'a'}:{tmp_path / 'b'}"
    point = STORE.study.point({"requests": "2000", "queries": "50", "sync": "none", "folder": folders, "keep": "log"})
    done = subprocess.run(worker_command(STORE, "mutex", point), capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["verified"] is True and answer["items"] == 4000
    assert answer["seconds"] == pytest.approx(answer["seconds_1"] + answer["seconds_2"])
    assert answer["p99_us_1"] > 0 and answer["p99_us_2"] > 0
    # in what order two threads log is theirs
    assert (tmp_path / "a" / "log").stat().st_size > 1000 < (tmp_path / "b" / "log").stat().st_size
    rows = [{"contender": "mutex", "kind": "variant", "seconds": answer["seconds"], "metrics": answer}]
    assert STORE.study.report is not None
    lines = STORE.study.report({"rows": rows, "point": point, "work": {"items": 4000}})
    told = [line for line in lines if str(tmp_path) in line]
    rate = 2000 / answer["seconds_2"] * 1e-3
    assert len(told) == 2 and f"{rate:.1f} k/s" in told[1] and told[1].split()[1] == str(tmp_path / "b")
    assert STORE.study.select is not None
    assert "lmdb" not in STORE.study.select(point) and "lmdb" in STORE.study.select({})


def test_too_many_folders_are_one_clear_message() -> None:
    point = STORE.study.point({"requests": "10", "folder": ":".join(["/tmp"] * 17)})
    done = subprocess.run(worker_command(STORE, "spin", point), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "17 folders, at most 16" in done.stderr and "hint:" in done.stderr


def test_a_folder_that_is_none_is_one_clear_message() -> None:
    point = STORE.study.point({"requests": "10", "folder": "/proc/gone"})
    done = subprocess.run(worker_command(STORE, "spin", point), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "/proc/gone" in done.stderr and len(done.stderr.splitlines()) == 1


def _compiled(name: str, folder: Path) -> Path:
    return compiled([STORE.folder / "elision" / f"{name}.cpp"], folder / name, "-O2", "-pthread")


x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="RTM is of x86-64 alone")


@x86
def test_the_elided_lock_does_what_each_end_of_a_transaction_asks_for(tmp_path: Path) -> None:
    done = subprocess.run([_compiled("scripted", tmp_path)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@x86
def test_the_elided_lock_counts_rightly_by_its_own_instructions(tmp_path: Path) -> None:
    command = [str(_compiled("counted", tmp_path))]
    if " rtm " not in f"{Path('/proc/cpuinfo').read_text()} ".replace("\n", " "):
        # as an emulator has them: each transaction is aborted as it begins, and the lock is taken
        emulator = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
        if emulator is None:
            pytest.skip("this processor has no RTM, and there is no emulator: apt-get install qemu-user-static")
        command = [emulator, "-cpu", "max", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    sys.stderr.write(f"transactions here: {done.stdout}")
    assert done.stdout.split(" ", 1)[1] == "80000 of 80000\n"


def test_where_there_is_no_rtm_the_row_says_so() -> None:
    rows = {c.name: c.not_run for c in native_contenders(STORE, {})}
    has = platform.machine() == "x86_64" and " rtm " in Path("/proc/cpuinfo").read_text()
    assert rows["elided"] is None if has else "rtm" in str(rows["elided"])


@pytest.mark.skipif(not LMDB, reason="there is no liblmdb.so.0: apt-get install liblmdb0")
@pytest.mark.parametrize("knobs", [{}, {"sync": "none", "batch": "1"}, {"record": "4096", "queries": "0"}], ids=str)
def test_lmdb_does_the_same_and_leaves_nothing(knobs: dict[str, str], tmp_path: Path) -> None:
    point = STORE.study.point({"requests": "3000", "accounts": "50", "folder": str(tmp_path), **knobs})
    command = [*worker_command(STORE, "lmdb", point), "--library", LMDB, "--threads", "3"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert answer["verified"] is True and 0 < answer["p50_us"] <= answer["p99_us"]
    debits = 3000 * (100 - int(point["queries"])) / 100
    assert answer["groups"] == pytest.approx(debits / int(point["batch"]), rel=0.15, abs=3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not LMDB, reason="there is no liblmdb.so.0: apt-get install liblmdb0")
@pytest.mark.parametrize(("sync", "waits"), [("fdatasync", True), ("none", False)])
def test_lmdb_waits_for_the_disk_where_the_store_does(sync: str, waits: bool, tmp_path: Path) -> None:
    counter = tmp_path / "count.so"
    compiler = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(counter)]
    subprocess.run(compiler, input=_SYNCS, text=True, check=True)
    point = STORE.study.point({"requests": "50", "queries": "0", "batch": "1", "sync": sync, "folder": str(tmp_path)})
    command = [*worker_command(STORE, "lmdb", point), "--library", LMDB, "--threads", "1"]
    env = {**os.environ, "LD_PRELOAD": str(counter)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    calls = int(done.stderr.rpartition("syncs ")[2])
    assert calls >= 50 if waits else calls < 10


def test_what_is_reported() -> None:
    metrics = {"p50_us": 1.0, "p99_us": 9.0, "log_bytes": 1e6, "log_ratio": 2.5, "recovery_seconds": 0.01, "groups": 10}
    rows: list[dict[str, object]] = [
        {"contender": "rwlock", "kind": "variant", "seconds": 1.0, "metrics": metrics},
        {"contender": "spin", "kind": "variant", "seconds": 1.22, "metrics": metrics},
    ]
    point = {"sync": "none", "compress": "lz4", "queries": "80"}
    assert STORE.study.report is not None and STORE.study.advise is not None
    assert STORE.study.advise({"rows": rows}) == ["rwlock serves 22% more requests than the own spin lock"]
    text = "\n".join(STORE.study.report({"point": point, "work": {"items": 1000}, "rows": rows}))
    assert "lz4: 2.50 times smaller" in text and "not a power failure" in text and "20.0" in text and "9 µs" in text
    rows[1]["seconds"] = 0.9
    assert STORE.study.advise({"rows": rows}) == ["no lock serves more requests than the own spin lock"]
    assert STORE.study.report({"point": point, "work": {"items": 1000}, "rows": []}) == []


def test_a_folder_that_is_not_there_is_bad_input_before_anything_runs(tmp_path: Path) -> None:
    assert STORE.study.select is not None
    with pytest.raises(InputError, match="none is no folder"):
        STORE.study.select({"folder": f"{tmp_path}:{tmp_path / 'none'}"})


@pytest.mark.parametrize("name", ["0/x", "/x", "x/", ".", ".."])
def test_a_logs_name_leads_nowhere_else(name: str) -> None:
    assert STORE.study.select is not None
    with pytest.raises(InputError, match="no name of a file"):
        STORE.study.select({"keep": name})
    assert "lmdb" in STORE.study.select({"keep": "log..1"})
