# SPDX-License-Identifier: BSD-3-Clause
"""The options of Open MPI's mpirun, of versions 4 and 5, other than those that are modelled (mpirun(1))."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.launcher_options import Beside, whole, words_of


def _either(*names: str) -> str:
    """The names with one dash and with two, as mpirun takes them."""
    return " ".join(f"{dashes}{name}" for name in names for dashes in ("-", "--"))


BESIDE = Beside(
    words_of(
        _either(
            "report-bindings",
            "tag-output",
            "timestamp-output",
            "allow-run-as-root",
            "display-map",
            "display-allocation",
        )
        + " "
        + _either(
            "display-topo", "display-devel-map", "leave-session-attached", "merge-stderr-to-stdout", "show-progress"
        )
        + " "
        + _either("abort-on-non-zero-status", "enable-recovery", "disable-recovery", "continuous", "do-not-launch")
        + " "
        + _either("debug-daemons", "debug-daemons-file", "noprefix", "xml", "index-argv-by-rank", "get-stack-traces")
        + " -q --quiet -v --verbose -d --debug-devel",
        _either(
            "hostfile", "machinefile", "default-hostfile", "host", "wdir", "wd", "path", "output-filename", "output"
        )
        + " "
        + _either(
            "timeout", "prefix", "tune", "am", "stdin", "xterm", "preload-files", "display", "add-hostfile", "add-host"
        )
        + " "
        + _either("report-uri", "report-pid", "personality", "forward-signals", "runtime-options", "set-sid", "rtos")
        + " -x -H --launch-agent --max-restarts --server-wait-time",
        _either("mca", "gmca", "prtemca", "gprtemca", "pmixmca", "gpmixmca"),
    ),
    unmodelled=tuple(
        _either(
            "rankfile", "rf", "nolocal", "cpu-set", "cpu-list", "cpus-per-proc", "cpus-per-rank", "npersocket"
        ).split()
        + _either(
            "bind-to-core", "bind-to-socket", "bind-to-none", "bycore", "byslot", "bynode", "bysocket", "pernode"
        ).split()
        + _either("app", "ppr", "slot-list", "tv", "rank-file", "dvm", "novm", "ompi-server").split()
    ),
    settings=tuple(_either("mca", "gmca", "prtemca", "gprtemca").split()),
    places=("hwloc", "rmaps", "binding"),
    names=("mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun"),
    own=("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"),
)


def on_one_node(launcher: str, options: Mapping[str, str], job: Job) -> None:
    """Raises InputError where -N leaves ranks over on the node that there is."""
    ranks = whole(launcher, "-n", options["ranks"]) if "ranks" in options else job.ranks
    if "per_node" in options and job.nodes == 1:
        each = whole(launcher, "-N", options["per_node"])
        if ranks > each:
            raise InputError(
                f"{launcher} refuses {ranks} ranks on one node by -N {each}",
                f"ask for fewer, or for --nodes {-(-ranks // each)}",
            )
