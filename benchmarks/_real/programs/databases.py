# SPDX-License-Identifier: BSD-3-Clause
"""Databases, with a server of their own on a private socket where they need one."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks._real.catalogue import INPUTS, Case, Missing, Room, find, program, with_parameter
from benchmarks._real.others import private_folder, running, unprivileged

_POSTGRES = "/usr/lib/postgresql/*/bin/"


@program("Redis", {"redis-server": "redis-server", "redis-benchmark": "redis-tools"})
def _redis(room: Room) -> list[Case]:
    """A client against a server that stays; and a script that starts a server, works with it and ends it."""
    folder = room.stack.enter_context(private_folder())
    socket = folder / "redis"
    server = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]

    def ready() -> bool:
        asked = subprocess.run(
            ["redis-cli", "-s", str(socket), "ping"], capture_output=True, text=True, check=False, timeout=10
        )
        return "PONG" in asked.stdout

    room.stack.enter_context(running(server, folder, ready))
    client = ["redis-benchmark", "-s", str(socket), "-q", "-r", "100000", "-d", "64"]
    room.write("session.sh", (INPUTS / "redis-session.sh").read_text())
    cases = [
        Case("client, sets", (*client, "-t", "set", "-n", "60000", "-c", "20")),
        with_parameter(
            "client, threads",
            [*client, "-t", "get", "-n", "60000", "-c", "20", "--threads", "{workers}"],
            "workers",
            ["1", "2"],
        ),
        with_parameter(
            "client, pipeline", [*client, "-t", "get", "-n", "60000", "-P", "{depth}"], "depth", ["1", "4", "16"], "16"
        ),
        with_parameter("server and client", ["sh", "session.sh", "{io}"], "io", ["1", "2"]),
    ]
    return [replace(case, served=True) for case in cases]


@program("PostgreSQL", {f"{_POSTGRES}postgres": "postgresql", f"{_POSTGRES}pgbench": "postgresql"})
def _postgres(room: Room) -> list[Case]:
    """pgbench against a server of its own: reads, and writes that do not wait for the disk."""
    postgres = find(f"{_POSTGRES}postgres")
    if postgres is None:
        raise Missing("missing: postgres (package postgresql)")
    tools = Path(postgres).parent
    folder = room.stack.enter_context(private_folder())
    data = folder / "data"
    room.do(
        *unprivileged(),
        tools / "initdb",
        "-D",
        data,
        "-U",
        "bench",
        "-A",
        "trust",
        "--no-sync",
        "-E",
        "UTF8",
        "--locale=C",
    )
    server = [
        postgres,
        "-D",
        str(data),
        "-k",
        str(folder),
        "-c",
        "listen_addresses=",
        "-c",
        "fsync=off",
        "-c",
        "autovacuum=off",
    ]

    def ready() -> bool:
        asked = subprocess.run(
            [str(tools / "pg_isready"), "-h", str(folder)], capture_output=True, check=False, timeout=10
        )
        return asked.returncode == 0

    # a fast shutdown, which does not wait for clients
    room.stack.enter_context(running(server, folder, ready, signal.SIGINT))
    client = [str(tools / "pgbench"), "-h", str(folder), "-U", "bench"]
    room.do(*client, "-i", "-q", "-s", "2", "postgres")
    rate = r"tps = ([0-9.]+)"
    read = [*client, "-n", "-S", "-c", "4"]
    cases = [
        with_parameter(
            "reads, protocol",
            [*read, "-t", "1500", "-M", "{mode}", "postgres"],
            "mode",
            ["simple", "extended", "prepared"],
            "prepared",
        ),
        with_parameter("reads, jobs", [*read, "-t", "1500", "-j", "{jobs}", "postgres"], "jobs", ["1", "2", "4"]),
        Case("writes", (*client, "-n", "-N", "-c", "2", "-t", "400", "postgres")),
        Case(
            "rate of reads", (*read, "-T", "1", "-M", "{mode}", "postgres"), ("-P", "mode=simple,prepared"), metric=rate
        ),
    ]
    return [replace(case, served=True) for case in cases]


@program("DuckDB", modules=["duckdb"])
def _duckdb(room: Room) -> list[Case]:
    script = str(INPUTS / "duckdb_query.py")
    room.do(sys.executable, script, "make", "orders.parquet")
    ask = [sys.executable, script]
    return [
        Case("join and group", (*ask, "join", "orders.parquet")),
        with_parameter("sort, threads", [*ask, "sort", "orders.parquet", "{workers}"], "workers", ["1", "2"], "2"),
        Case("window", (*ask, "window", "orders.parquet")),
    ]
