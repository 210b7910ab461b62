# SPDX-License-Identifier: BSD-3-Clause
"""The options of Open MPI's mpirun, of versions 4 and 5, other than those that are modelled (mpirun(1))."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.base.errors import InputError
from nodewise.placement.hosts import filled, in_file, in_list, shaped
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
        _either("wdir", "wd", "path", "output-filename", "output")
        + " "
        + _either(
            "timeout", "prefix", "tune", "am", "stdin", "xterm", "preload-files", "display", "add-hostfile", "add-host"
        )
        + " "
        + _either("report-uri", "report-pid", "personality", "forward-signals", "runtime-options", "set-sid", "rtos")
        + " -x --launch-agent --max-restarts --server-wait-time",
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
    joined=("hosts",),
    own=("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"),
)

#: What ranks may be mapped by besides: a file, or how near a device is.
FROM_ELSEWHERE = ("rankfile", "seq", "dist", "mindist")
#: What names hosts and their slots.
HOSTS = {
    **dict.fromkeys([*_either("host").split(), "-H"], "hosts"),
    **dict.fromkeys(_either("hostfile", "machinefile", "default-hostfile").split(), "hostfile"),
}


def on_hosts(
    launcher: str, options: dict[str, str], job: Job, cpus: int, each: int, by_node: bool, crowded: bool
) -> tuple[Job, int | None, list[str]]:
    """The job on the hosts that are named, where any are, how many slots each then has, and notes.

    `cpus` are the slots of a host whose number is not said, `each` how many ranks go to a node where that is said, and ranks take turns
    `by_node`; `crowded` ones may be more than there are slots. Raises InputError where mpirun refuses.
    """
    slots: dict[str, int | None] | None = None
    notes = []
    if "hosts" in options:
        slots = in_list(launcher, "--host", options["hosts"])
        if "hostfile" in options:
            notes.append(f"{launcher}: of the hosts in {options['hostfile']} those that --host names are taken")
    elif "hostfile" in options:
        slots = in_file(launcher, "--hostfile", options["hostfile"], job)
        if slots is None:
            notes.append(
                f"{launcher}: {options['hostfile']} cannot be read here: its {job.nodes} hosts are taken for alike"
            )
    if slots is None:
        return job, None, notes
    there = {name: cpus if n is None else n for name, n in slots.items()}
    ranks = whole(launcher, "-n", options["ranks"]) if "ranks" in options else job.ranks
    ranks = ranks or (each * len(there) if each else sum(there.values()))
    counts = filled(launcher, there, ranks, each=each, by_node=by_node, crowded=crowded)
    shape = shaped(launcher, job, list(there), counts, "cyclic" if by_node else "block")
    return shape, next(n for n, count in zip(there.values(), counts, strict=True) if count), notes


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
