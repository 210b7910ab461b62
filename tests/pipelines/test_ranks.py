# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines over ranks, by each launcher that is here, on one node and over several."""

import gzip
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nodewise_transport", reason="messages are those of nodewise-transport")

from nodewise.api.pipeline import carry_out, launcher_words, prepare_pipeline
from nodewise.base.errors import InputError, NodewiseError, ProgramError
from nodewise.pipelines import ranks
from nodewise.pipelines.result import Ended, PipelineResult
from nodewise.pipelines.wire import LostError, Wire
from tests.crossed import crossed
from tests.kernel_symbols import no_kernel_symbols
from tests.pipelines.files import WHOLE, simple, written
from tests.pipelines.nodes import Nodes, nodes, started_by
from tests.slurm_cluster import SlurmCluster, slurm_cluster

__all__ = ["no_kernel_symbols"]
pytestmark = pytest.mark.usefixtures("no_kernel_symbols")
LAUNCHERS = ("openmpi", "mpich")
NODEWISE = [sys.executable, "-m", "nodewise"]


def _launched(folder: Path, text: str, launcher: str, ranks: int) -> PipelineResult:
    try:
        start = launcher_words(launcher, ranks)
    except NodewiseError as problem:
        pytest.skip(f"{launcher} is not here: {problem.what}")
    return carry_out(prepare_pipeline(written(folder, text), True), None, start=start)


@pytest.fixture(autouse=True)
def _more_ranks_than_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"):
        monkeypatch.setenv(name, "1")


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_devices_are_dealt_out_to_ranks(tmp_path: Path, launcher: str) -> None:
    found = _launched(tmp_path, WHOLE, launcher, 2)
    assert found.ended is Ended.WHOLE, found.problem
    instances = [i for d in found.devices for i in d.instances]
    assert [i.rank for i in instances] == [0, 0, 0, 0, 1, 1, 1]
    assert {i.host for i in instances} == {os.uname().nodename}
    assert {c.transport for c in found.channels} == {"shm"}
    assert len(gzip.decompress((tmp_path / "out.gz").read_bytes())) == 21 * 200_000


def test_places_are_those_of_the_node_and_are_read_back(tmp_path: Path) -> None:
    source = "kind = 'generator'\nsize = 100\ncount = 10\nrank = 1\nplace = '0'"
    found = _launched(tmp_path, simple(source, "kind = 'checksum'\nrank = 0"), "mpich", 2)
    one = found.devices[0].instances[0]
    assert (one.rank, one.asked, one.allowed) == (1, (0,), (0,))
    assert found.devices[2].instances[0].rank == 0
    free = found.devices[1].instances[0]
    assert free.allowed == tuple(sorted(os.sched_getaffinity(0))) and free.asked is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("rank = 2", "p.toml:5: device.source.rank: there is no rank 2"),
        ("host = 'elsewhere'", "p.toml:5: device.source.host: no rank runs on 'elsewhere'"),
        ("place = '90000'", "p.toml:5: device.source.place: processor 90000 is none that may be used here"),
        ("place = 'everywhere'", "p.toml:5: device.source.place: unknown placement: 'everywhere'"),
    ],
)
def test_what_ranks_do_not_have_is_refused_before_a_device_starts(tmp_path: Path, more: str, said: str) -> None:
    (tmp_path / "mark.py").write_text(f"open({str(tmp_path / 'began')!r}, 'w')\ndef made():\n    yield b'1'\n")
    text = simple(f"kind = 'python'\ncall = 'mark:made'\n# of rank\n{more}")
    with pytest.raises(InputError) as caught:
        _launched(tmp_path, text, "mpich", 2)
    assert caught.value.what.startswith(str(tmp_path)) or said in caught.value.what
    assert said in caught.value.what and not (tmp_path / "began").exists()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_too_few_ranks_are_one_message(tmp_path: Path, launcher: str) -> None:
    with pytest.raises(InputError, match=r"there is no rank 3"):
        _launched(tmp_path, simple("kind = 'generator'\nrank = 3"), launcher, 1)


@pytest.fixture(scope="module")
def found_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with nodes(tmp_path_factory.mktemp("nodes")) as found:
        yield found


def _asked(found: Nodes, folder: Path, words: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        found.on("front", *NODEWISE, "pipeline", *options, str(folder / "p.toml"), "--", *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
    )


def _over_nodes(found: Nodes, folder: Path, text: str, launcher: str, each: int = 1) -> dict[str, Any]:
    written(folder, text)
    done = _asked(found, folder, started_by(launcher, found, ("nodea", "nodeb"), each), "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.some(2)
@pytest.mark.parametrize(("launcher", "transport"), crossed(LAUNCHERS, ["", "ofi+tcp"]))
def test_channels_between_nodes_reach(found_nodes: Nodes, tmp_path: Path, launcher: str, transport: str) -> None:
    general = f"[pipeline]\ntransport = '{transport}'\n" if transport else ""
    result = _over_nodes(found_nodes, tmp_path, general + WHOLE, launcher)
    assert result["ended"] == "whole", result["problem"]
    hosts = {i["host"] for d in result["devices"] for i in d["instances"]}
    assert hosts == {"nodea", "nodeb"}
    by_name = {c["name"]: c["transport"] for c in result["channels"]}
    if transport:
        assert {*by_name.values()} == {transport}
    else:
        # from those that compress to the merge it goes from node to node
        assert by_name == {"raw": "shm", "summed": "shm", "packed": "tcp", "merged": "shm", "last": "shm"}
    content = gzip.decompress((tmp_path / "out.gz").read_bytes())
    assert [int.from_bytes(content[i : i + 8], "little") for i in range(0, len(content), 200_000)] == [*range(21)]


def test_libfabrics_shared_memory_joins_ranks_of_a_node(found_nodes: Nodes, tmp_path: Path) -> None:
    text = simple(
        "kind = 'generator'\nsize = '24MB'\ncount = 5\nhost = 'nodea'", "kind = 'checksum'\nhost = 'nodeb'"
    ).replace('kind = "discard"', "kind = 'discard'\nhost = 'nodeb'")
    text = text.replace("[channel.made]\n", "[channel.made]\ntransport = 'ofi+shm'\n")
    result = _over_nodes(found_nodes, tmp_path, text, "openmpi", 2)
    assert result["ended"] == "whole", result["problem"]
    assert {c["name"]: c["transport"] for c in result["channels"]} == {"raw": "tcp", "made": "ofi+shm"}
    assert {i["rank"] for d in result["devices"] for i in d["instances"]} == {0, 2, 3}


def test_shared_memory_between_nodes_is_refused(found_nodes: Nodes, tmp_path: Path) -> None:
    written(tmp_path, simple("kind = 'generator'", more="transport = 'shm'"))
    done = _asked(found_nodes, tmp_path, started_by("mpich", found_nodes, ("nodea", "nodeb")), "--quiet")
    assert done.returncode == 2 and done.stdout == ""
    assert "p.toml:8: channel.raw.transport: shm joins processes of one node, and this channel those of nodea" in (
        done.stderr
    )


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_host_that_is_not_there_is_one_message(found_nodes: Nodes, tmp_path: Path, launcher: str) -> None:
    written(tmp_path, simple("kind = 'generator'"))
    done = _asked(found_nodes, tmp_path, started_by(launcher, found_nodes, ("nodea", "nowhere")), "--quiet")
    assert done.returncode == 2 and done.stdout == ""
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and "before all of its ranks were there" in errors[0]
    assert list(tmp_path.iterdir()) == [tmp_path / "p.toml"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    with slurm_cluster() as started:
        started.wait_idle()
        yield started


def test_srun_starts_the_ranks_of_an_allocation(cluster: SlurmCluster, tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    words = [*NODEWISE, "pipeline", "--json", "--quiet", "--launcher", "srun", "--ranks", "2", str(path)]
    done = cluster.inside(words, nodes=2, ranks=2, timeout_s=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["ended"] == "whole"
    assert [i["host"] for d in result["devices"] for i in d["instances"]] == ["n1"] * 4 + ["n2"] * 3
    assert {c["transport"] for c in result["channels"]} == {"shm", "tcp"}
    assert len(gzip.decompress((tmp_path / "out.gz").read_bytes())) == 21 * 200_000


def test_a_launcher_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no launcher of ranks"):
        launcher_words(("echo", "-n", "2"))
    with pytest.raises(InputError, match="--launcher and --ranks say together"):
        launcher_words("mpich")
    with pytest.raises(ProgramError):
        carry_out(prepare_pipeline(written(tmp_path, simple("kind = 'generator'")), True), None, start=(("false",), 2))


@pytest.mark.parametrize("says", [b"", b"\0\0\0"])
def test_a_rank_that_stops_in_its_greeting_is_lost(says: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "_GREET_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as theirs:
        wire = Wire(listener.accept()[0])
        theirs.sendall(says)
        with pytest.raises(LostError, match="timed out"):
            ranks._greeted(wire)
        wire.close()
