# SPDX-License-Identifier: BSD-3-Clause
"""A transaction store under a charging-like mix: kinds of lock, compression of the log, and the disk of the log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.units import format_percent, format_seconds
from nodewise.studies.contract import Knob, Library, Published, Study


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """Balances after all debits that the account covered, in whatever order."""
    import numpy as np

    account, amount, start = inputs["account"], inputs["amount"], inputs["start"]
    covered = (amount != 0) & (start[account] >= amount)
    balances = start.copy()
    np.subtract.at(balances, account[covered], amount[covered])
    return {"balances": balances, "recovered": balances, "logged": covered.astype(np.uint8)}


def report(result: Mapping[str, Any]) -> list[str]:
    """How long debits wait until they are acknowledged, and what the log became."""
    rows = [r for r in result["rows"] if r["kind"] != "limit" and r.get("seconds") and r.get("metrics")]
    if not rows:
        return []
    lines = [f"{'a debit until it is acknowledged':<34}{'half within':>14}{'99% within':>14}{'debits a sync':>16}"]
    debits = result["work"]["items"] * (100 - int(result["point"].get("queries", 80))) / 100
    for row in rows:
        metrics = row["metrics"]
        if "p99_us" in metrics:
            group = f"{debits / metrics['groups']:.1f}" if metrics.get("groups") else ""
            lines.append(f"  {row['contender']:<32}{_waited(metrics['p50_us'])}{_waited(metrics['p99_us'])}{group:>16}")
    own = [r for r in rows if r["kind"] == "variant"]
    if own:
        metrics = own[0]["metrics"]
        library = result["point"].get("compress", "none")
        speed = metrics.get("compress_mb_per_s")
        packed = f" at {speed:.0f} MB/s" if speed else ""
        lines.append(
            f"log: {metrics['log_bytes'] / 1e6:.3g} MB, compression {library}: {metrics['log_ratio']:.2f} times smaller{packed}; "
            f"replayed in {metrics['recovery_seconds'] * 1e3:.3g} ms"
        )
    lines += _by_folder(result)
    if result["point"].get("sync") == "none":
        lines.append("sync=none: acknowledged is what the kernel has; it survives a kill, not a power failure")
    return lines


def _waited(microseconds: float) -> str:
    """In a column."""
    return f"{format_seconds(microseconds * 1e-6):>14}"


def folders_of(point: Mapping[str, str]) -> list[str]:
    """Where the log is, one after the other; none where nothing was named."""
    return [folder for folder in point.get("folder", "").split(":") if folder]


def _by_folder(result: Mapping[str, Any]) -> list[str]:
    """Of a run with the log in several folders: requests a second and the slowest debits in each."""
    folders = folders_of(result["point"])
    if len(folders) < 2:
        return []
    each = result["work"]["items"] / len(folders)
    lines = [f"{'requests a second, by folder of the log':<52}{'':>14}{'99% within':>14}"]
    for row in result["rows"]:
        metrics = row.get("metrics") or {}
        for k, folder in enumerate(folders, 1):
            seconds, slow = metrics.get(f"seconds_{k}"), metrics.get(f"p99_us_{k}")
            if seconds:
                waited = "" if slow is None else _waited(slow)
                lines.append(f"  {row['contender']:<14}{folder:<36}{each / seconds * 1e-3:>11.1f} k/s{waited}")
    return lines


def select(point: Mapping[str, str]) -> tuple[str, ...]:
    """Peers have one folder. Raises InputError for a folder that is not there, and where the log's name is none, before anything runs."""
    for folder in folders_of(point):
        if not Path(folder).is_dir():
            raise InputError(f"study store: {folder} is no folder", "name one that is there, several between ':'")
    if (name := point.get("keep", "")) and (Path(name).name != name or name == ".."):
        raise InputError(f"study store: --keep {name} is no name of a file", "give a name alone; --folder says where")
    own = ("spin", "ticket", "mutex", "rwlock", "elided", "shared_mutex", "log")
    return own if len(folders_of(point)) > 1 else (*own, "lmdb", "sqlite")


def advise(result: Mapping[str, Any]) -> list[str]:
    """How the locks stand to the own spin lock."""
    own = [r for r in result["rows"] if r["kind"] == "variant" and r.get("seconds") and r.get("metrics")]
    spin = next((r for r in own if r["contender"] == "spin"), None)
    if spin is None or len(own) < 2:
        return []
    best = min(own, key=lambda r: r["seconds"])
    gain = spin["seconds"] / best["seconds"] - 1
    if best is spin:
        return ["no lock serves more requests than the own spin lock"]
    return [f"{best['contender']} serves {format_percent(gain)} more requests than the own spin lock"]


#: `own` packs into LZ4's format, `own-avx2` the same bytes by AVX2.
_CODECS = ("none", "zlib", "lz4", "zstd", "own", "own-avx2")

STUDY = Study(
    name="store",
    title="transaction store: balances are read, debited and logged, by kind of lock, compression and disk",
    knobs=(
        Knob("requests", "queries and debits together", "200000", quick="50000", most=2**28),
        Knob("accounts", "accounts in the store", "100000", most=2**24),
        Knob("queries", "of a hundred requests, those that only read a balance", "80", least=0, most=99),
        Knob("folder", "where the log is, several between ':' in turn; else where temporary files go", "", text=True),
        Knob("sync", "what a debit waits for", "fdatasync", ("fdatasync", "fsync", "none")),
        Knob("batch", "debits that a thread has open before it waits", "64", most=2**20, tries=("1", "1024")),
        Knob("compress", "the log, by which library", "none", _CODECS, tries=_CODECS[2:]),
        Knob("record", "bytes of a log record", "128", least=24, most=4096, unit=1),
        Knob("keep", "name of the log, to stay in the folder; else it has none", "", text=True),
        Knob(
            "acknowledge", "descriptor that the numbers of acknowledged requests are written to", "", least=0, most=1023
        ),
    ),
    default_variant="spin",
    plain_variant="spin",
    rate_unit="k requests/s",
    rate_scale=1e-3,
    test_points=(
        {"requests": "1", "accounts": "1", "queries": "0"},
        {"requests": "97", "accounts": "3", "queries": "0", "batch": "1", "sync": "fsync"},
        {"requests": "1009", "accounts": "17", "record": "24", "sync": "none", "batch": "1"},
        {"requests": "5003", "accounts": "1000", "queries": "50", "compress": "zlib", "record": "131"},
        {"requests": "5003", "accounts": "5", "queries": "50", "compress": "lz4", "sync": "none", "batch": "7"},
        {"requests": "5003", "accounts": "999", "queries": "99", "compress": "zstd", "batch": "1000"},
        {"requests": "5003", "accounts": "77", "queries": "20", "sync": "none", "compress": "own", "batch": "3"},
        {"requests": "2003", "accounts": "77", "queries": "20", "sync": "none", "folder": "/tmp:/var/tmp"},
        {"requests": "10007", "accounts": "501", "queries": "80", "sync": "none"},
    ),
    reference=reference,
    libraries={"lmdb": Library(("liblmdb.so.0",), "apt-get install liblmdb0")},
    published=(
        Published(
            "elided",
            "own spin lock replaced by glibc's rwlock with lock elision",
            "22% more by the text; by its figure's caption two generations of processors (E7-8890 v4 and v3), both with elision",
            "an online charging database",
        ),
        Published("", "compression with AVX2", "34% in that module", "an online charging database"),
        Published("", "a faster SSD", "58% more", "an online charging database"),
    ),
    bench=(
        {},
        {"sync": "none", "queries": "95", "requests": "1000000"},
        {"compress": "lz4"},
        {"compress": "own", "sync": "none", "queries": "0", "batch": "1024"},
        {"compress": "own-avx2", "sync": "none", "queries": "0", "batch": "1024"},
    ),
    select=select,
    report=report,
    advise=advise,
)
