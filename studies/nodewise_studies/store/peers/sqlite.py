# SPDX-License-Identifier: BSD-3-Clause
"""SQLite with the same mix: write-ahead log, synchronous=FULL, a commit after each `batch` debits; one thread.

Python's own module, so a request costs what a statement costs from Python. The text of the records is not compressed.
"""

import os
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np

_FILES = ("", "-wal", "-shm", "-journal")


def available():
    """Say why it cannot run: never, since Python comes with it."""


def prepare(inputs, point, threads):
    """The requests as Python's own numbers."""
    return {
        "start": inputs["start"],
        "requests": list(zip(inputs["account"].tolist(), inputs["amount"].tolist(), strict=True)),
        "point": point,
        "text": "x" * max(0, int(point["record"]) - 24),
    }


def _database(state):
    """A new database of which no name is left: it is gone with this process. It has space before it begins."""
    folder = state["point"].get("folder") or os.environ.get("TMPDIR") or "/tmp"  # as the native part takes it
    needed = len(state["requests"]) * (2 * int(state["point"]["record"]) + 64) + 64 * state["start"].size + (1 << 22)
    if shutil.disk_usage(folder).free < needed:
        raise SystemExit(f"{folder} has not the {needed} bytes free that are needed")
    place = tempfile.mkdtemp(dir=folder, prefix="nodewise-")
    path = str(Path(place) / "store")
    database = sqlite3.connect(path, isolation_level=None)
    try:
        sync = "OFF" if state["point"]["sync"] == "none" else "FULL"
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", f"synchronous={sync}"):
            database.execute(f"PRAGMA {pragma}")
        database.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)")
        database.execute("CREATE TABLE log (request INTEGER PRIMARY KEY, account INTEGER, amount INTEGER, text TEXT)")
        database.execute("BEGIN")
        database.executemany("INSERT INTO account VALUES (?, ?)", enumerate(state["start"].tolist()))
        database.execute("COMMIT")
    finally:
        for end in _FILES:
            Path(path + end).unlink(missing_ok=True)
        Path(place).rmdir()
    return database


def run(state):
    """All requests on a database of their own; the time is that of the requests alone."""
    if "database" in state:
        state["database"].close()
    database = state["database"] = _database(state)
    batch, text = int(state["point"]["batch"]), state["text"]
    ask, waits, began = database.execute, [], []
    begin = time.perf_counter()
    ask("BEGIN")
    for i, (account, amount) in enumerate(state["requests"]):
        if amount == 0:
            ask("SELECT balance FROM account WHERE id = ?", (account,)).fetchone()
            continue
        now = time.perf_counter()
        debit = "UPDATE account SET balance = balance - ? WHERE id = ? AND balance >= ?"
        if ask(debit, (amount, account, amount)).rowcount == 0:
            continue
        ask("INSERT INTO log VALUES (?, ?, ?, ?)", (i, account, amount, text))
        began.append(now)
        if len(began) == batch:
            ask("COMMIT")
            now = time.perf_counter()
            waits += [now - b for b in began]
            began.clear()
            ask("BEGIN")
    ask("COMMIT")
    now = time.perf_counter()
    waits += [now - b for b in began]
    state["seconds"], state["waits"] = now - begin, waits


def metrics(state):
    """The time without making the database, and how long debits waited."""
    waits = np.array(state["waits"])
    reported = {"seconds": state["seconds"]}
    if waits.size:
        reported |= {"p50_us": 1e6 * float(np.median(waits)), "p99_us": 1e6 * float(np.percentile(waits, 99))}
    return reported


def outputs(state):
    """The balances, the same by the log, and what is logged."""
    balances = np.array([b for (b,) in state["database"].execute("SELECT balance FROM account ORDER BY id")], np.int64)
    recovered = state["start"].copy()
    logged = np.zeros(len(state["requests"]), np.uint8)
    for request, account, amount in state["database"].execute("SELECT request, account, amount FROM log"):
        logged[request] += 1
        recovered[account] -= amount
    return {"balances": balances, "recovered": recovered, "logged": logged}
