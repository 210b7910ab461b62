# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm cluster of four nodes on this machine: a controller, four slurmd and their own munged, in a namespace of their own.

Each node calls itself by its own name (a UTS namespace), so that programs see on which one they run.

All of them end with the process that started them, whatever ends it: they are children of the first process of a PID
namespace, and the kernel kills what is in it. Nothing lies outside the cluster's folder, and no service of the system is touched.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

NODES = ("n1", "n2", "n3", "n4")
_NEEDED = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "unshare", "setpriv")
_SBIN = ("/usr/sbin", "/sbin")
#: A requeued job begins as soon as its last credential has run out, by default two minutes later.
_CONFIG = """
ClusterName=nodewise
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=2
NodeName=n[1-4] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]}-{ports[4]}] CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=1000
PartitionName=p Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""
#: The first process of the namespace: it starts the others, and takes up those whose parents have gone.
_INIT = """
cd {folder}
mount --bind hosts /etc/hosts
munged --foreground --force --num-threads=2 --key-file=munge/key --socket={folder}/munge/socket \
    --pid-file={folder}/munge/pid --log-file={folder}/munge/log --seed-file={folder}/munge/seed &
while [ ! -S munge/socket ]; do sleep 0.02; done
slurmctld -D -f {folder}/slurm.conf &
for node in n1 n2 n3 n4; do
    while :; do
        unshare --uts sh -c 'hostname $0 && exec slurmd -D -N $0 -f {folder}/slurm.conf' $node
        while [ ! -e start-$node ]; do sleep 0.1; done
        rm start-$node
    done &
done
while :; do wait; sleep 0.1; done
"""


class SlurmCluster:
    """A cluster that runs: `environment` is what its commands and programs need."""

    def __init__(self, folder: Path):
        self.folder = folder
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_SBIN])
        slurm = {k for k in os.environ if k.startswith(("SLURM", "SRUN", "SBATCH", "SALLOC"))}
        own = {k: v for k, v in os.environ.items() if k not in slurm}
        self.environment = {**own, "PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}

    def ask(
        self, *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """What a command says that knows this cluster."""
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            env={**self.environment, **(env or {})},
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL,
        )

    def inside(
        self, words: Sequence[str], nodes: int = 2, ranks: int = 2, timeout_s: float = 60, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """What a command says in an allocation of these nodes."""
        return self.ask("salloc", "-Q", f"-N{nodes}", f"-n{ranks}", *words, timeout_s=timeout_s, cwd=cwd)

    def processes(self, marker: str) -> list[int]:
        """The processes with a text in their command lines or their environments."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) == os.getpid():
                continue
            try:
                text = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
            except OSError:
                continue
            if marker.encode() in text.replace(b"\0", b" "):
                found.append(int(entry.name))
        return found

    def lose_node(self, node: str) -> None:
        """End a node at once, as its power does: its daemon and all that it has started."""
        own = f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                variables = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdecimal() else []
                words = (entry / "cmdline").read_bytes().split(b"\0") if own in variables else []
                daemon = words[:4] == [b"slurmd", b"-D", b"-N", node.encode()]
                if daemon or (words and f"SLURMD_NODENAME={node}".encode() in variables):
                    os.kill(int(entry.name), signal.SIGKILL)

    def start_node(self, node: str) -> None:
        """Start the daemon of a node again that has ended."""
        (self.folder / f"start-{node}").touch()

    def wait_idle(self, timeout_s: float = 30) -> None:
        """Wait until all nodes can be had. Raises AssertionError with what the daemons say where that takes too long."""
        end = time.monotonic() + timeout_s
        while self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() != str(len(NODES)):
            logs = "\n".join(p.read_text(errors="replace")[-1000:] for p in self.folder.glob("*.log"))
            assert time.monotonic() < end, f"not all nodes came up: {logs}"
            time.sleep(0.05)


def _free_ports(count: int) -> list[int]:
    """Ports next to each other that nobody listens on."""
    for first in range(26000 + os.getpid() % 4000, 32000, count):
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    one = held.enter_context(socket.socket())
                    one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return list(range(first, first + count))
    raise AssertionError("no free ports")


@contextmanager
def slurm_cluster() -> Iterator[SlurmCluster]:
    """Start a cluster and end it; the test is skipped by name where Slurm is not here."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_SBIN])
    if missing := [name for name in _NEEDED if shutil.which(name, path=path) is None]:
        pytest.skip(f"Slurm is not here: {', '.join(missing)} (Debian: slurmctld slurmd slurm-client munge)")
    if os.geteuid() != 0:
        pytest.skip("only root can start Slurm's daemons")
    # the name of a socket is short, and pytest's folders are not
    with tempfile.TemporaryDirectory(prefix="nw-slurm-") as text:
        folder = Path(text)
        folder.chmod(0o755)
        for name in ("munge", "state", *(f"{kind}-{node}" for kind in ("spool", "tmp") for node in NODES)):
            (folder / name).mkdir(mode=0o700 if name == "munge" else 0o755)
        (folder / "munge/key").write_bytes(os.urandom(1024))
        (folder / "munge/key").chmod(0o400)
        names = {"folder": folder, "host": os.uname().nodename.split(".")[0], "ports": _free_ports(5)}
        # PMIx looks for the address of a node
        (folder / "hosts").write_text(Path("/etc/hosts").read_text() + f"127.0.0.1 {' '.join(NODES)}\n")
        (folder / "slurm.conf").write_text(_CONFIG.format(**names, cpus=len(os.sched_getaffinity(0))))
        cluster = SlurmCluster(folder)
        namespace = ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
        with (folder / "daemons.log").open("w") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *namespace, "sh", "-c", _INIT.format(**names)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=cluster.environment,
            )
        try:
            cluster.wait_idle()
            yield cluster
        finally:
            process.kill()
            process.wait()
            end = time.monotonic() + 10
            while cluster.processes(str(folder)) and time.monotonic() < end:
                time.sleep(0.02)
