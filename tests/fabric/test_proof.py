# SPDX-License-Identifier: BSD-3-Clause
"""Ping-pongs: real ones where fi_pingpong is installed, and pretend ones that hang, fail or say nothing."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.fabric.proof import Outcome, Proof, Transfer, judged, parse_pingpong, prove, why
from nodewise.fabric.providers import Provider, parse_verbose

#: As libfabric 1.17 printed it.
PRINTED = """bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      100     =100     12k         0.95s      0.01    4743.54       0.00
1m      20      =20      40m         0.02s   2170.20     483.17       0.00
"""
needs_fi = pytest.mark.skipif(shutil.which("fi_pingpong") is None, reason="fi_pingpong is not here (libfabric-bin)")


def provider(name: str, endpoint: str = "RDM") -> Provider:
    return Provider(name, "1", (endpoint,), ("MSG",), (), (), (), (), (), False, ())


def pretend(folder: Path, script: str) -> dict[str, str]:
    """An environment whose fi_pingpong is that script."""
    program = folder / "fi_pingpong"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_rows_of_fi_pingpong_are_transfers() -> None:
    small, large = parse_pingpong(PRINTED)
    assert small == Transfer(64, pytest.approx(4743.54e-6), pytest.approx(64 / 4743.54e-6))
    assert large.size == 1 << 20 and large.bytes_per_s == pytest.approx(2.1702e9, rel=1e-3)
    assert parse_pingpong("nothing") == ()


def test_an_error_is_said_in_libfabrics_words() -> None:
    said = "fi_getinfo(): util/pingpong.c:1489, ret=-61 (No data available)\n"
    assert why(said) == "fi_getinfo: No data available"
    assert why("[error] one\nanother\n") == "another" and why("") == ""


@given(st.text(max_size=300))
def test_any_output_is_read(text: str) -> None:
    assert all(t.half_round_trip_s > 0 for t in parse_pingpong(text + PRINTED + text))
    why(text)


@needs_fi
@pytest.mark.parametrize("name", ["shm", "tcp;ofi_rxm"])
def test_a_provider_that_works_is_proved(name: str) -> None:
    printed = subprocess.run(["fi_info", "-v"], capture_output=True, text=True, check=True).stdout
    there = {p.name: p for p in parse_verbose(printed)}
    if name not in there:
        pytest.skip(f"{name} is not in this libfabric")
    proof = prove(there[name], 60.0, os.environ)
    assert proof.outcome is Outcome.WORKS and [t.size for t in proof.transfers] == [64, 1 << 20], proof
    assert 0 < proof.transfers[0].half_round_trip_s < 60


@needs_fi
def test_a_provider_that_is_not_here_fails_with_libfabrics_words() -> None:
    proof = prove(provider("no-such-provider"), 60.0, os.environ)
    assert proof.outcome is Outcome.FAILS and "No data available" in proof.reason, proof


def test_what_finds_no_device_is_not_tried(tmp_path: Path) -> None:
    bare = Provider("psm2", "1", (), (), (), (), (), (), (), False, ())
    proof = prove(bare, 5.0, pretend(tmp_path, f"touch {tmp_path}/started"))
    assert proof.outcome is Outcome.FAILS and not (tmp_path / "started").exists()


def test_both_are_killed_at_the_limit_and_nothing_is_left(tmp_path: Path) -> None:
    environment = pretend(tmp_path, f"echo $$ >> {tmp_path}/pids\nsleep 987 &\necho $! >> {tmp_path}/pids\nwait")
    began = time.monotonic()
    proof = prove(provider("slow"), 1.5, environment)
    assert proof.outcome is Outcome.NO_END and "to and fro: not done within 1.5 s" in proof.reason
    assert time.monotonic() - began < 30
    started = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(started) == 4
    until = time.monotonic() + 10
    while any(_runs(pid) for pid in started) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [pid for pid in started if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("script", ["exit 0", "echo gone >&2; exit 3", "echo 64 rows"])
def test_what_ends_and_proves_nothing_fails(tmp_path: Path, script: str) -> None:
    assert prove(provider("odd"), 20.0, pretend(tmp_path, script)).outcome is Outcome.FAILS


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        prove(provider("tcp"), 5.0, {"PATH": str(tmp_path)})


def of(name: str, seconds: float) -> Proof:
    return Proof(name, "RDM", Outcome.WORKS, (Transfer(64, seconds, 64 / seconds),))


def test_what_is_slow_beside_the_fastest_is_of_no_use() -> None:
    shm, tcp, sockets = judged([of("shm", 1e-6), of("tcp", 2e-4), of("sockets", 4.7e-3)])
    assert shm.works and tcp.works and sockets.outcome is Outcome.SLOW
    assert sockets.reason == "64 B take 4.7 ms, 4700 times that of the fastest"
    # where nothing is fast there is nothing to hold them against
    assert [p.outcome for p in judged([of("a", 2e-3), of("b", 4e-3)])] == [Outcome.SLOW, Outcome.SLOW]
    assert [p.outcome for p in judged([of("a", 2e-5), of("b", 1.9e-3)])] == [Outcome.WORKS, Outcome.WORKS]
