# SPDX-License-Identifier: BSD-3-Clause
"""What is acknowledged is there, whenever the store is killed; torn logs; the locks and the checksum.

NODEWISE_KILLS says how often the store is killed.
"""

import ctypes
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from nodewise.studies.commands import native_contenders, worker_command
from nodewise.studies.discovery import find_study

STORE = find_study("store")
KILLS = int(os.environ.get("NODEWISE_KILLS", "25"))
LOCKS = [c.name for c in native_contenders(STORE, {}) if c.kind == "variant" and c.not_run is None]


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
        told = np.frombuffer(bytes(data), np.int64)
        begins = np.flatnonzero(told == -1)
        self.runs = begins.size
        self.acknowledged = set(told[begins[-1] + 1 :].tolist())
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
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        groups.append(told["groups"])
        assert told["p50_us"] <= told["p99_us"]
    assert groups[1] <= groups[0] / 50


def test_compression_makes_the_log_smaller(tmp_path: Path) -> None:
    point = {"requests": "5000", "queries": "0", "sync": "none", "compress": "zlib", "folder": str(tmp_path)}
    command = worker_command(STORE, "spin", STORE.study.point(point))
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert told["log_ratio"] > 2


def test_a_folder_that_is_none_is_one_clear_message() -> None:
    point = STORE.study.point({"requests": "10", "folder": "/none/such"})
    done = subprocess.run(worker_command(STORE, "spin", point), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "/none/such" in done.stderr and len(done.stderr.splitlines()) == 1


def test_what_is_told() -> None:
    metrics = {"p50_us": 1.0, "p99_us": 9.0, "log_bytes": 1e6, "log_ratio": 2.5, "recovery_seconds": 0.01, "groups": 10}
    rows: list[dict[str, object]] = [
        {"contender": "rwlock", "kind": "variant", "seconds": 1.0, "metrics": metrics},
        {"contender": "spin", "kind": "variant", "seconds": 1.22, "metrics": metrics},
    ]
    point = {"sync": "none", "compress": "lz4", "queries": "80"}
    assert STORE.study.tell is not None
    text = "\n".join(STORE.study.tell({"point": point, "work": {"items": 1000}, "rows": rows}))
    assert "rwlock serves 22 % more requests than the own spin lock" in text
    assert "lz4: 2.50 times smaller" in text and "not a power failure" in text and "20.0" in text
    rows[1]["seconds"] = 0.9
    text = "\n".join(STORE.study.tell({"point": point, "work": {"items": 1000}, "rows": rows}))
    assert "no lock serves more" in text
    assert STORE.study.tell({"point": point, "work": {"items": 1000}, "rows": []}) == []
