# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise fabric` as it is typed: what it prints, and what it refuses."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.fabric.trees import port


def test_a_link_is_drawn(nodewise: Command) -> None:
    done = nodewise("fabric", "link", "4X", "QDR")
    assert done.returncode == 0
    for part in ("signalling  40 Gb/s", "data        32 Gb/s", "8b/10b", "wires       16", "40 Gb/sec (4X QDR)"):
        assert part in done.stdout
    assert "lane 3  ▸  3  7 11 15" in done.stdout


def test_two_links_are_the_ends_of_a_cable(nodewise: Command) -> None:
    done = nodewise("fabric", "link", "4X QDR", "1X", "DDR")
    assert (
        "4X QDR facing 1X DDR comes up as 1X DDR, 4 Gb/s of data" in done.stdout
        and "store a frame whole" in done.stdout
    )
    made = json.loads(nodewise("fabric", "link", "4X QDR 4X SDR", "--json").stdout)
    assert made["between"]["data_gbits"] == 8 and made["store_and_forward"] is False
    assert "50 of 53.12" in nodewise("fabric", "link").stdout


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["link", "QDR"], "QDR by itself says no speed"),
        (["link", "4X", "QRD"], "did you mean QDR?"),
        (["link", "4X QDR 4X QDR 4X QDR"], "a cable has two ends"),
        (["links"], "did you mean link?"),
        (["ports", "x"], "nothing is named behind ports"),
        (["ports", "--root", "nowhere"], "no such folder: nowhere"),
        (["--root", "."], "--root would do nothing"),
        (["link", "4X", "QDR", "--timeout", "3s"], "--timeout would do nothing"),
        (["--no-run", "--timeout", "3s"], "--timeout would do nothing"),
        (["translate"], "no setting is given"),
        (["translate", "nowhere.sh"], "neither NAME=VALUE nor a file"),
        (["--timeout", "soon"], "not a duration: --timeout"),
    ],
)
def test_bad_words_are_one_message(nodewise: Command, words: list[str], what: str) -> None:
    done = nodewise("fabric", *words)
    assert done.returncode == 2 and what in done.stderr and not done.stdout and "Traceback" not in done.stderr


def test_wrong_ports_end_with_exit_code_1(nodewise: Command, tmp_path: Path) -> None:
    port(tmp_path, "mlx5_0/1", "200 Gb/sec (4X HDR)")
    good = nodewise("fabric", "ports", "--root", str(tmp_path))
    assert good.returncode == 0 and "4X HDR    200 Gb/s of data, 212.5 signalled" in good.stdout
    port(tmp_path, "mlx5_1/1", "10 Gb/sec (4X SDR)", "1: DOWN", "2: Polling")
    bad = nodewise("fabric", "ports", "--root", str(tmp_path))
    assert bad.returncode == 1 and "mlx5_1/1 is DOWN: no other port answers" in bad.stdout


def test_old_settings_are_translated(nodewise: Command, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("export I_MPI_FABRICS=shm:tmi\nexport I_MPI_DAPL_UD=1\n")
    done = nodewise("fabric", "translate", str(script), "I_MPI_OFA_NUM_ADAPTERS=2", "I_MPI_OFA_NUM_PORTS=2")
    assert done.returncode == 0 and "I_MPI_DAPL_UD=1  →  nothing" in done.stdout
    assert "rails: 4 cables: 2 adapters × 2 ports" in done.stdout and "\nexport FI_PROVIDER=psm\n" in done.stdout


def test_without_any_tool_each_is_said_in_one_line(
    nodewise: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = nodewise("fabric")
    assert done.returncode == 0 and not done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("not here")]
    assert [line.split()[2].rstrip(":") for line in said][:2] == ["libfabric", "Open"] and len(said) >= 4


@pytest.mark.parametrize("script", ["exit 3", "echo garbage; exit 0", "kill -9 $$"])
def test_tools_that_fail_are_no_traceback(
    nodewise: Command, tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fi_info", "fi_pingpong", "mpirun.openmpi", "mpiexec.mpich", "ompi_info", "mpichversion"):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    done = nodewise("fabric")
    assert (
        done.returncode == 0
        and "Traceback" not in done.stderr
        and "libfabric: fi_info lists no provider" in done.stdout
    )
