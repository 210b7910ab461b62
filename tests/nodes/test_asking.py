# SPDX-License-Identifier: BSD-3-Clause
"""Nodes are asked by ClusterShell, Slurm, MPI and ssh: answers come whole, and who gives none costs nobody else's."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._check.fleets import regular
from nodewise.base.errors import InputError, UnavailableError
from nodewise.nodes.asking.ask import _why
from nodewise.nodes.asking.frames import Frames, framed
from nodewise.nodes.asking.silence import silence, silence_of
from nodewise.nodes.asking.starters import Starter, nodes_asked, remote_words, starter_of
from tests.slurm_cluster import SlurmCluster, slurm_cluster

NODEWISE = f"{sys.executable} -m nodewise"
#: What becomes of a node by the end of its name.
NODE = f"""#!/bin/sh
if [ $1 = snapshot ]; then node=$SLURMD_NODENAME; else node=$1; shift; fi
case $node in
    *2) sleep 60 ;;
    *3) echo "no disk" >&2; exit 3 ;;
    *4) exec /proc/gone/nodewise ;;
    *5) exec yes ;;
    *6) {NODEWISE} "$@" --node $node | head -c 600; exit 0 ;;
    *7) kill -KILL $$ ;;
esac
exec {NODEWISE} "$@" --node $node
"""


def _read(lines: list[bytes]) -> list[tuple[str, str]]:
    frames = Frames()
    taken = [frames.take(line.decode(errors="replace")) for line in lines]
    return [(node, text) for node, text in filter(None, taken) if text is not None]


@given(
    st.dictionaries(
        st.from_regex(r"[\w.-]{1,64}", fullmatch=True).filter(str.isascii), st.text(max_size=3000), max_size=4
    ),
    st.randoms(use_true_random=False),
)
def test_texts_come_whole_however_lines_are_mixed(texts: dict[str, str], mixing: random.Random) -> None:
    lines = [
        (mixing.choice((b"", b"n1: ", b"[1,0]<stdout>:")) + line) for n, t in texts.items() for line in framed(n, t)
    ]
    mixing.shuffle(lines)
    assert dict(_read(lines)) == texts


@given(st.text(min_size=400, max_size=3000), st.data())
def test_a_damaged_text_is_none(text: str, data: st.DataObject) -> None:
    lines = list(framed("n1", text))
    k = data.draw(st.integers(0, len(lines) - 1))
    at = data.draw(st.integers(0, len(lines[k].rstrip()) - 1))
    put = data.draw(st.integers(0, 255).filter(lambda b: b != lines[k][at]))
    lines[k] = lines[k][:at] + bytes([put]) + lines[k][at + 1 :]
    assert _read(lines) in ([], [("n1", text)])


@pytest.mark.parametrize("numbers", ["3/3", "4/3", "0/0", "0/1001"])
def test_a_line_that_is_none_of_its_text_is_no_frame(numbers: str) -> None:
    line = f"nw1 n1 {zlib.crc32(b'x'):08x} {numbers} eJwDAA=="
    assert Frames().take(f"{line} {zlib.crc32(line.encode()):08x}") is None


def test_every_line_is_of_one_length_that_launchers_do_not_cut() -> None:
    text = json.dumps({f"name {i}": random.Random(i).random() for i in range(2000)})
    lines = list(framed("n" * 64, text))
    assert {len(line) for line in lines} == {512} and len(lines) > 3


def test_what_would_take_too_much_memory_is_none() -> None:
    assert _read(list(framed("n1", "x" * (1 << 21)))) == []


def test_silence_is_read_back() -> None:
    assert silence_of(json.loads(silence("n1", "it is off"))) == ("n1", "it is off")
    assert silence_of({"nodewise_snapshot": 1, "node": "n\x1b1", "no_answer": "x"}) is None
    assert silence_of({"nodewise_snapshot": 1, "node": "n1", "no_answer": 3}) is None


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("ssh -p 22", ["ssh", "-p", "22", "-n", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "n1", "a 'b c'"]),
        ("mpiexec.hydra", ["mpiexec.hydra", "-n", "1", "-host", "n1", "a", "b c"]),
        ("clush", ["clush", "-n", "-f", "8", "-t", "10", "-u", "15", "-w", "n1", "a 'b c'"]),
    ],
)
def test_each_starter_is_told_in_its_words(words: str, wanted: list[str]) -> None:
    name, *more = words.split()
    kind = "mpirun" if name.startswith("mpi") else name
    assert Starter(kind, (name, *more)).command(["n1"], ["a", "b c"], 5, 8) == wanted


def test_srun_starts_all_at_once_and_waits_for_nodes_that_can_be_had() -> None:
    srun = Starter("srun", ("srun", "-p", "long"))
    nodes = [f"n{i}" for i in range(1, 5)]
    assert srun.batches(nodes) == [tuple(nodes)]
    words = srun.command(nodes, ["a", "b c"], 5, 8)
    assert words[:7] == ["srun", "-p", "long", "-N", "4", "-n", "4"] and words[-2:] == ["a", "b c"]
    assert words[words.index("-w") + 1] == "n[1-4]" and "-K0" in words


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({"SLURM_JOB_NODELIST": "n[08-10],m1"}, ["n08", "n09", "n10", "m1"]),
        ({"LSB_HOSTS": "a b a"}, ["a", "b"]),
    ],
)
def test_the_nodes_of_this_job_are_those_that_its_system_names(environment: dict[str, str], wanted: list[str]) -> None:
    assert nodes_asked("@job", None, environment) == wanted


def test_a_hostfile_is_read_as_mpirun_does(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# ours\nn1 slots=4\nn2:4\n\nn[3-4]  # two\nn1\n")
    assert nodes_asked(None, tmp_path / "hosts", {}) == ["n1", "n2", "n3", "n4"]
    assert nodes_asked("@job", None, {"PBS_NODEFILE": str(tmp_path / "hosts")}) == ["n1", "n2", "n3", "n4"]


def test_what_is_wrong_in_a_hostfile_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    for text, told in (
        ("n1\nn2\n-oX\n", "line 3: not a name"),
        ("\ufeffn1\n\nn[x\n", "line 3: not a list of nodes"),
        ("#\n", "no node is named in"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=told) as caught:
            nodes_asked(None, path, {})
        assert str(path) in caught.value.what and "PosixPath" not in caught.value.what
    with pytest.raises(InputError, match="cannot read /proc/kmsg"):
        nodes_asked(None, Path("/proc/kmsg"), {})


@pytest.mark.parametrize(
    ("hosts", "told"),
    [
        ("-oProxyCommand=x", "not a name of a node: '-oProxyCommand=x'"),
        ("n1;reboot", "not a name of a node"),
        ("n[1-", "not a list of nodes"),
        ("$(reboot)", "not a name of a node"),
        ("@job", "part of no job"),
        ("", "not a list of nodes"),
    ],
)
def test_what_names_no_node_is_refused(hosts: str, told: str) -> None:
    with pytest.raises(InputError, match=told.replace("(", r"\(").replace("$", r"\$")):
        nodes_asked(hosts, None, {})


@pytest.mark.parametrize("file", ["/dev/zero", "/proc/gone", "/"])
def test_a_hostfile_that_is_none_is_refused(file: str) -> None:
    with pytest.raises(InputError, match=f"cannot read {file}: "):
        nodes_asked(None, Path(file), {})


def test_a_starter_that_is_none_or_not_here_is_refused() -> None:
    with pytest.raises(InputError, match="--through: not one of clush, srun, mpirun, ssh: 'rm -rf'"):
        starter_of("rm -rf", {})
    with pytest.raises(UnavailableError, match="clush is not installed"):
        starter_of("clush", {"PATH": "/proc/gone"})
    with pytest.raises(InputError, match=r"--through: .* cannot be split into words: no closing quotation"):
        starter_of("ssh 'x", {})
    with pytest.raises(InputError, match="--remote: it names no command"):
        remote_words("", ())


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """What is started on nodes in place of nodewise."""
    (tmp_path / "on-node").write_text(NODE)
    (tmp_path / "on-node").chmod(0o755)
    return tmp_path / "on-node"


def _nodewise(*words: str, cwd: Path, path: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **env}
    if path is not None:
        environment["PATH"] = f"{path}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "nodewise", *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )


REASONS = {
    "n2": "no answer within 6 s",
    "n3": "no disk",
    "n4": "not found",
    "n5": "no answer within 6 s",
    "n6": "its answer did not come whole",
    "n7": "was killed: no answer within 6 s|Killed",
}


def _hold(done: subprocess.CompletedProcess[str], folder: Path, whole: set[str]) -> None:
    assert done.returncode == 1, done.stderr
    kept = {f.stem: json.loads(f.read_text()) for f in folder.glob("*.json")}
    assert kept.keys() == whole | REASONS.keys()
    assert {name for name, data in kept.items() if "system" in data} == whole
    for name, reason in REASONS.items():
        assert re.search(reason, kept[name]["no_answer"]), kept[name]
        assert f"{name}: {kept[name]['no_answer']}" in done.stderr


def test_clustershell_asks_and_a_bad_node_costs_no_other(node: Path, tmp_path: Path) -> None:
    if shutil.which("clush") is None:
        pytest.skip("ClusterShell is not here (Debian: clustershell)")
    begun = time.monotonic()
    words = ("--hosts", "n[1-8]", "--through", "clush -R exec", "--remote", f"{node} %h", "--timeout", "6s")
    done = _nodewise("snapshot", *words, "-o", "kept", "--fact", "speed=3", cwd=tmp_path)
    assert time.monotonic() - begun < 40
    _hold(done, tmp_path / "kept", {"n1", "n8"})
    assert json.loads((tmp_path / "kept/n8.json").read_text())["own"] == {"speed": 3}
    checked = json.loads(_nodewise("check", "kept", "--json", cwd=tmp_path).stdout)
    [silent] = [f for f in checked["findings"] if f["finding"]["name"] == "no-answer"]
    assert silent["nodes"] == sorted(REASONS)


def test_each_node_is_reached_by_an_ssh_of_its_own(node: Path, tmp_path: Path) -> None:
    """In place of ssh a script that starts the command here, as no ssh server is."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text('#!/bin/sh\nshift 5; node=$1; exec sh -c "$(echo "$2" | sed "s/%h/$node/")"\n')
    (tmp_path / "bin/ssh").chmod(0o755)
    words = ("--hosts", "n[1-8]", "--through", "ssh", "--remote", f"{node} %h", "--timeout", "6s", "--fanout", "3")
    done = _nodewise("snapshot", *words, "-o", "kept", cwd=tmp_path, path=tmp_path / "bin")
    _hold(done, tmp_path / "kept", {"n1", "n8"})


def test_a_node_that_calls_itself_otherwise_is_named_as_it_was_asked(tmp_path: Path) -> None:
    """Copies of one image all have its name; and what ssh leaves running, as its ControlPersist does, holds its output open."""
    [made] = regular(1, 1)
    (tmp_path / "snapshot").write_bytes(b"".join(framed("other", json.dumps({**made, "node": "other"}))))
    left, own = tmp_path / "left", tmp_path / "own"
    deaf = f"(trap '' TERM HUP; sleep 61) &\necho $! >> '{own}'\n"
    (tmp_path / "ssh").write_text(
        f"#!/bin/sh\ncat '{tmp_path}/snapshot'\nsetsid sleep 60 &\necho $! >> '{left}'\n{deaf}"
    )
    (tmp_path / "ssh").chmod(0o755)
    begun = time.monotonic()
    done = _nodewise("snapshot", "--hosts", "n[1-3]", "--through", "ssh", "-o", "kept", cwd=tmp_path, path=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - begun < 30
    kept = {f.stem: json.loads(f.read_text())["node"] for f in (tmp_path / "kept").iterdir()}
    assert kept == {f"n{i}": f"n{i}" for i in (1, 2, 3)}
    # what is in a session of its own is left to whoever made it so
    for pid in left.read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    until = time.monotonic() + 10
    while any(Path("/proc", pid).exists() for pid in own.read_text().split()):
        assert time.monotonic() < until, "what a starter left in its own session still runs"
        time.sleep(0.02)


def test_an_end_that_is_asked_for_among_many_nodes_is_one(tmp_path: Path) -> None:
    (tmp_path / "ssh").write_text(f'#!/bin/sh\necho x >> "{tmp_path}/asked"; exit 255\n')
    (tmp_path / "ssh").chmod(0o755)
    words = (sys.executable, "-m", "nodewise", "check", "--hosts", "n[1-20000]", "--through", "ssh")
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    asking = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 30
    while not (tmp_path / "asked").exists() and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.5)
    asking.terminate()
    told = asking.communicate(timeout=30)[1]
    assert asking.returncode == 143, told
    assert "Traceback" not in told and "pending" not in told and len(told.splitlines()) < 3000
    assert _started(tmp_path / "ssh") == []


def test_a_disk_that_fills_up_in_the_middle_keeps_what_came_before(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    nodes = list(regular(40, 1))
    names = [n["node"] for n in nodes]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ssh").write_text(f'#!/bin/sh\nshift 5; exec cat "{tmp_path}/$1"\n')
    (tmp_path / "bin/ssh").chmod(0o755)
    for made in nodes:
        (tmp_path / made["node"]).write_bytes(b"".join(framed(made["node"], json.dumps(made))))
    # 100 KiB hold a dozen snapshots
    script = f"""
    mount -t tmpfs -o size=100k tmpfs "{disk}" || exit 99
    "$@"; code=$?
    cp -r "{disk}/kept" "{tmp_path}/after"
    exit $code
    """
    words = ("snapshot", "--hosts", ",".join(names), "--through", "ssh", "--fanout", "4", "-o", f"{disk}/kept")
    command = ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-m", "nodewise", *words]
    path = f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=100
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("a small disk can only be mounted by root")
    assert done.returncode == 2 and "No space left" in done.stderr and "Traceback" not in done.stderr, done.stderr
    # nothing stands there in part, and what does is judged
    kept = {f.name: json.loads(f.read_text()) for f in (tmp_path / "after").iterdir()}
    assert 5 <= len(kept) < 40 and kept.keys() <= {f"{name}.json" for name in names}
    assert all(data["nodewise_snapshot"] == 1 for data in kept.values())
    checked = _nodewise("check", str(tmp_path / "after"), "--json", cwd=tmp_path)
    assert json.loads(checked.stdout)["nodes"] == len(kept)
    assert _started(tmp_path / "bin/ssh") == []


def test_what_the_site_says_of_speed_reaches_the_nodes(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text('[speed]\nthreads = 3\nallow = "0"\nfolder = "/scratch"\n')
    (tmp_path / "node").write_text(
        f"#!/bin/sh\nprintf '%s ' \"$@\" > {tmp_path}/said\nexec {NODEWISE} snapshot --framed --node n1\n"
    )
    (tmp_path / "node").chmod(0o755)
    (tmp_path / "ssh").write_text('#!/bin/sh\nshift 6; exec sh -c "$1"\n')
    (tmp_path / "ssh").chmod(0o755)
    words = ("--hosts", "n1", "--through", "ssh", "--remote", str(tmp_path / "node"), "--site", "site.toml")
    done = _nodewise("check", *words, "--speed", "dgemm,disk", "--allow", "1", cwd=tmp_path, path=tmp_path)
    assert "1 node" in done.stdout, done.stderr
    said = (tmp_path / "said").read_text().split()
    assert said == ["snapshot", "--framed", "--speed=dgemm,disk", "--threads=3", "--allow=1", "--folder=/scratch"]


def test_nodes_ping_each_other(tmp_path: Path) -> None:
    if shutil.which("clush") is None:
        pytest.skip("ClusterShell is not here (Debian: clustershell)")
    remote = f"env SLURMD_NODENAME=%h {NODEWISE}"
    words = ("--hosts", "127.0.0.[1-3]", "--speed", "ping", "--through", "clush -R exec", "--remote", remote)
    done = _nodewise("snapshot", *words, "-o", "kept", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for file in (tmp_path / "kept").iterdir():
        speed = json.loads(file.read_text())["speed"]
        assert speed.keys() == {"ping", "stream"} and all(s["runs"] == 2 and s["rate"] > 0 for s in speed.values())
        assert speed["ping"]["unreached"] is None


@pytest.mark.parametrize("launcher", ["mpirun.openmpi", "mpiexec.mpich"])
def test_mpi_starts_it_on_this_machine(launcher: str, tmp_path: Path) -> None:
    if shutil.which(launcher) is None:
        pytest.skip(f"{launcher} is not here")
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = _nodewise("snapshot", "--hosts", "localhost", "--through", launcher, cwd=tmp_path, **allowed)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["node"] == os.uname().nodename.partition(".")[0]


#: What Open MPI 4 says to root, in full.
AS_ROOT = """
--------------------------------------------------------------------------
mpirun has detected an attempt to run as root.

Running as root is *strongly* discouraged as any mistake (e.g., in
defining TMPDIR) or bug can result in catastrophic damage to the OS
file system, leaving your system in an unusable state.

We strongly suggest that you run mpirun as a non-root user.

You can override this protection by adding the --allow-run-as-root option
to the cmd line or by setting two environment variables in the following way:
the variable OMPI_ALLOW_RUN_AS_ROOT=1 to indicate the desire to override this
protection, and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 to confirm the choice and
add one more layer of certainty that you want to do so.
We reiterate our advice against doing so - please proceed at your own risk.
--------------------------------------------------------------------------
"""


@pytest.mark.parametrize(
    ("starter", "said", "reason"),
    [
        (
            "mpirun",
            AS_ROOT,
            "mpirun refuses to run as root: OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or another --through",
        ),
        (
            "ssh",
            "Welcome\nsleep: invalid option -- 'x'\nTry 'sleep --help' for more information.\n",
            "sleep: invalid option -- 'x'",
        ),
        ("ssh", "Usage: app [options]\nspeed takes a number\nSee app --help.\n", "speed takes a number"),
        ("ssh", "Usage: app [options]\n", "Usage: app [options]"),
    ],
)
def test_the_reason_is_what_was_complained_of(starter: str, said: str, reason: str, tmp_path: Path) -> None:
    """In place of the starter a script that says what it would."""
    (tmp_path / "said").write_text(said)
    (tmp_path / starter).write_text(f'#!/bin/sh\ncat "{tmp_path}/said" >&2; exit 1\n')
    (tmp_path / starter).chmod(0o755)
    done = _nodewise("snapshot", "--hosts", "n1", "--through", starter, cwd=tmp_path, path=tmp_path)
    assert done.returncode == 1 and json.loads(done.stdout)["no_answer"] == reason


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    with slurm_cluster() as cluster:
        yield cluster


def test_slurm_asks_all_in_one_step(slurm: SlurmCluster, tmp_path: Path) -> None:
    words = (*NODEWISE.split(), "snapshot", "--hosts", "n[1-4]", "--through", "srun", "-o", str(tmp_path / "kept"))
    done = slurm.ask(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(f.stem for f in (tmp_path / "kept").iterdir()) == ["n1", "n2", "n3", "n4"]
    inside = slurm.inside((*NODEWISE.split(), "check", "--hosts", "@job", "--json"))
    assert json.loads(inside.stdout)["nodes"] == 2, inside.stderr


def test_a_node_that_slurm_cannot_have_costs_no_other(slurm: SlurmCluster, node: Path, tmp_path: Path) -> None:
    slurm.ask("scontrol", "update", "nodename=n4", "state=drain", "reason=test")
    try:
        words = ("snapshot", "--hosts", "n[1-4],n9", "--through", "srun", "--timeout", "6s", "--remote", str(node))
        done = slurm.ask(*NODEWISE.split(), *words, "-o", str(tmp_path / "kept"), cwd=tmp_path)
    finally:
        slurm.ask("scontrol", "update", "nodename=n4", "state=resume")
    assert done.returncode == 1
    kept = {f.stem: json.loads(f.read_text()).get("no_answer") for f in (tmp_path / "kept").iterdir()}
    assert kept["n1"] is None, done.stderr
    assert kept["n2"] == "no answer within 6 s" and kept["n3"].startswith("no disk")
    assert kept["n4"] == "Slurm has it as drain" and kept["n9"] == "Slurm knows no such node"


def test_an_interrupt_leaves_nothing_behind(node: Path, tmp_path: Path) -> None:
    if shutil.which("clush") is None:
        pytest.skip("ClusterShell is not here (Debian: clustershell)")
    words = (
        "--hosts",
        "n[1-2]",
        "--through",
        "clush -R exec",
        "--remote",
        f"{node} %h",
        "-o",
        "kept",
        "--timeout",
        "8s",
    )
    asking = subprocess.Popen(
        [sys.executable, "-m", "nodewise", "snapshot", *words], cwd=tmp_path, stderr=subprocess.PIPE, process_group=0
    )
    end = time.monotonic() + 30
    while not (tmp_path / "kept/n1.json").exists() and time.monotonic() < end:
        time.sleep(0.05)
    asking.send_signal(signal.SIGINT)
    # to a shell both are 130
    assert asking.wait(20) in (130, -signal.SIGINT)
    assert b"Traceback" not in (asking.stderr.read() if asking.stderr else b"")
    assert (tmp_path / "kept/n1.json").exists()
    # what runs on nodes ends by itself, as connections may be lost
    end = time.monotonic() + 15
    while (left := _started(node)) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []


def _started(program: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(program) in line:
            found.append(line)
    return found


def test_a_command_that_took_a_sigkill_to_end_gave_no_answer_in_time() -> None:
    assert _why("", 137, 4, 24) == "its command was killed: no answer within 4 s, or too little memory there"
    assert _why("Killed", 137, 4, 24) == _why("", 137, 4, 24)
    assert _why("", None, 12, 32) == "no answer within 12 s, nor 20 s later"
