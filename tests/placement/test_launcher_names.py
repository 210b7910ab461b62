# SPDX-License-Identifier: BSD-3-Clause
"""Every name that launchers have, from their manuals: of programs, options, variables and ranks, each doing what it is there for.

The manuals are mpirun(1) of Open MPI 4.1 and 5.0, `mpiexec -help` of MPICH 4, srun(1) of Slurm 22.05 and aprun(1).
"""

from dataclasses import replace

import pytest

from nodewise.base.errors import InputError
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.registry import all_dialects
from nodewise.placement.resolve import Request, resolve
from tests.placement.runtimes.mpirun5 import machine_of

MACHINE = "pack:2 numa:1 core:4 pu:2"
FRONTS = {"openmpi4": "mpirun", "openmpi5": "mpirun", "mpich": "mpiexec", "slurm": "srun", "aprun": "aprun"}


def _read(name: str, text: str, nodes: int = 1) -> tuple[Placement, tuple[str, ...]]:
    found = resolve(machine_of(MACHINE), Job(1, nodes=nodes), Request(**{name: text}))
    # its policy is the text itself
    return replace(found.placement, policy=""), found.notes


def _dashes(names: str) -> list[str]:
    return [dashes + name for name in names.split() for dashes in ("-", "--")]


#: Spellings of one option, its value, and what stands beside it.
_MPIRUN = [
    (_dashes("map-by"), "numa", "-n 4"),
    (_dashes("bind-to"), "numa", "-n 4"),
    (_dashes("rank-by"), "slot", "-n 4 --map-by numa --bind-to core"),
    (["-n", *_dashes("np"), "-c"], "3", "--bind-to core"),
    ([*_dashes("npernode"), "-N"], "3", "--bind-to core"),
    ([*_dashes("host"), "-H"], "a:2,b:2", "--bind-to core"),
    (["--use-hwthread-cpus"], "", "-n 16"),
    (_dashes("oversubscribe"), "", "-n 17"),
]
SPELLINGS = {
    "openmpi4": _MPIRUN,
    "openmpi5": _MPIRUN,
    "mpich": [
        (["-bind-to", "--bind-to", "-binding"], "core", "-n 4"),
        (["-map-by", "--map-by"], "numa", "-n 4 -bind-to core"),
        (["-n", "-np", "--np"], "3", "-bind-to core"),
        (["-ppn", "-perhost", "--ppn"], "3", "-bind-to core"),
        (["-hosts", "--hosts", "-host", "--host"], "a:2,b:2", "-bind-to core -n 4"),
    ],
    "slurm": [
        (["--cpu-bind", "--cpu_bind"], "threads", "-n 4"),
        (["--distribution", "-m"], "*:block", "-n 4 --cpu-bind=threads"),
        (["--ntasks", "-n"], "3", "--cpu-bind=threads"),
        (["--ntasks-per-node"], "3", "--cpu-bind=threads"),
        (["--cpus-per-task", "-c"], "2", "-n 4 --cpu-bind=threads"),
        (["--threads-per-core"], "1", "-n 4"),
        (["--hint"], "nomultithread", "-n 4"),
        (["--nodes", "-N"], "2", "-n 4 --cpu-bind=threads"),
        (["--nodelist", "-w"], "n[1-2]", "-n 4 --cpu-bind=threads"),
        (["--overcommit", "-O"], "", "-n 17 --cpu-bind=threads"),
    ],
    "aprun": [
        (["-n", "--pes"], "3", ""),
        (["-N", "--pes-per-node"], "2", "-n 4"),
        (["-S", "--pes-per-numa-node"], "1", "-n 2"),
        (["-d", "--cpus-per-pe"], "3", "-n 2"),
        (["-j", "--cpus-per-cu"], "1", "-n 4"),
        (["-cc", "--cpu-binding"], "3,1", "-n 2"),
        (["-ss", "--strict-memory-containment"], "", "-n 2"),
    ],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_each_spelling_of_an_option_sets_what_the_others_do(name: str) -> None:
    for spellings, value, beside in SPELLINGS[name]:
        usual, _ = _read(name, f"{beside} {spellings[0]} {value}")
        for spelt in spellings:
            assert _read(name, f"{spelt} {value} {beside}")[0] == usual, spelt


#: What names a file of hosts, of which nothing is read here but how many nodes there are.
HOST_FILES = {
    "openmpi4": _dashes("hostfile machinefile default-hostfile"),
    "openmpi5": _dashes("hostfile machinefile default-hostfile"),
    "mpich": ["-f", *_dashes("hostfile machinefile")],
    "slurm": ["--nodelist", "-w", "--nodefile", "-F"],
}


@pytest.mark.parametrize("name", HOST_FILES)
def test_each_spelling_of_a_file_of_hosts(name: str) -> None:
    for spelt in HOST_FILES[name]:
        placed, notes = _read(name, f"-n 4 {spelt} /absent/hosts", nodes=2)
        assert (placed.nodes, placed.per_node) == (2, 2)
        assert (
            f"{FRONTS[name]}: /absent/hosts cannot be read here: its 2 {'nodes' if name == 'slurm' else 'hosts'} are taken for alike"
            in notes
        )


_MPIRUN_BARE = [
    *_dashes(
        "report-bindings tag-output timestamp-output allow-run-as-root display-map display-allocation display-topo"
    ),
    *_dashes("display-devel-map leave-session-attached merge-stderr-to-stdout show-progress abort-on-non-zero-status"),
    *_dashes("enable-recovery disable-recovery continuous do-not-launch debug-daemons debug-daemons-file noprefix xml"),
    *_dashes("index-argv-by-rank get-stack-traces"),
    *("-q", "--quiet", "-v", "--verbose", "-d", "--debug-devel"),
]
_MPIRUN_VALUED = [
    *_dashes(
        "wdir wd path output-filename output timeout prefix tune am stdin xterm preload-files display add-hostfile"
    ),
    *_dashes("add-host report-uri report-pid personality forward-signals runtime-options set-sid rtos"),
    *("-x", "--launch-agent", "--max-restarts", "--server-wait-time"),
]
_MPIRUN_TWO = _dashes("mca gmca prtemca gprtemca pmixmca gpmixmca")
#: Options that say nothing of placement, by how many words follow them.
PASSED_OVER = {
    "openmpi4": (_MPIRUN_BARE, _MPIRUN_VALUED, _MPIRUN_TWO),
    "openmpi5": (_MPIRUN_BARE, _MPIRUN_VALUED, _MPIRUN_TWO),
    "mpich": (
        ["-genvall", "-genvnone", "-envall", "-envnone", "-v", "-verbose", "--verbose", "-l", "-prepend-rank", "-info"],
        [
            "-wdir",
            "--wdir",
            "-genvlist",
            "-envlist",
            "-launcher",
            "-iface",
            "-rmk",
            "-path",
            "-outfile-pattern",
            "-usize",
        ],
        ["-env", "-genv", "--env", "--genv"],
    ),
    "slurm": (
        [
            "-E",
            "-K",
            "-l",
            "-Q",
            "-u",
            "-v",
            "--contiguous",
            "--label",
            "--pty",
            "--quiet",
            "--unbuffered",
            "--overlap",
        ],
        [
            "-A",
            "-D",
            "-e",
            "-i",
            "-J",
            "-o",
            "-p",
            "-q",
            "-t",
            "--mem",
            "--export",
            "--gres",
            "--mpi",
            "--partition",
            "--qos",
        ],
        [],
    ),
    "aprun": (
        ["-b", "-q", "-T", "--bypass-app-transfer", "--quiet", "--sync-output"],
        ["-a", "-D", "-e", "-L", "-m", "-p", "-P", "-R", "-t", "--node-list", "--memory-per-pe", "--cpu-time-limit"],
        [],
    ),
}


@pytest.mark.parametrize("name", PASSED_OVER)
def test_what_places_nothing_takes_its_words_along_and_is_named(name: str) -> None:
    placed, notes = _read(name, "-n 4")
    for count, options in enumerate(PASSED_OVER[name]):
        for option in options:
            found, more = _read(name, " ".join([option, *["x"] * count, "-n", "4"]))
            assert found == placed, option
            said = f"{FRONTS[name]}: passed over, as it says nothing of placement: {option}"
            assert sorted(more) == sorted([*notes, said])


_MPIRUN_UNMODELLED = [
    *_dashes(
        "rankfile rf nolocal cpu-set cpu-list bysocket bind-to-none app ppr slot-list tv rank-file dvm novm ompi-server"
    ),
]
#: Options that place ranks in a way that is not modelled.
UNMODELLED = {
    "openmpi4": _MPIRUN_UNMODELLED,
    "openmpi5": [
        *_MPIRUN_UNMODELLED,
        *_dashes("cpus-per-proc cpus-per-rank npersocket bind-to-core bind-to-socket bycore byslot bynode pernode"),
    ],
    "mpich": ["-membind", "--membind", "-topolib", "--topolib", "-configfile", "--configfile", "-skip-binding"],
    "slurm": [
        *(
            "--ntasks-per-socket",
            "--ntasks-per-core",
            "--ntasks-per-gpu",
            "--sockets-per-node",
            "--cores-per-socket",
            "-B",
        ),
        *("--extra-node-info", "--core-spec", "-S", "--thread-spec", "--cpus-per-gpu", "--mem-bind", "--gres-flags"),
        *("--multi-prog", "--het-group", "--spread-job", "--use-min-nodes", "--tres-bind"),
    ],
    "aprun": ["-B", "--batch-args", "-F", "--access-mode", "-r", "--specialized-cpus", "-sl", "-sn", "-cp"],
}


@pytest.mark.parametrize("name", UNMODELLED)
def test_what_places_otherwise_is_refused_by_its_name(name: str) -> None:
    for option in UNMODELLED[name]:
        with pytest.raises(InputError) as refused:
            _read(name, f"-n 4 {option} 1")
        said = f"{FRONTS[name]}: {option} bears on placement, and what it does is not modelled"
        assert (refused.value.what, refused.value.hint) == (
            said,
            "leave it out to see the placement of the other options",
        )


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
@pytest.mark.parametrize("option", _dashes("mca gmca prtemca gprtemca"))
def test_parameters_of_open_mpi_that_place_are_refused(name: str, option: str) -> None:
    for parameter in ("hwloc_base_x", "rmaps_base_x", "x_binding_y"):
        with pytest.raises(InputError, match=f"{option} {parameter} y bears on placement"):
            _read(name, f"-n 4 {option} {parameter} y")
    # PMIx places nothing
    _read(name, "-n 4 --pmixmca hwloc_x y")


@pytest.mark.parametrize(
    ("name", "fronts", "own"),
    [
        *(
            (
                name,
                ["mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun"],
                ["OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"],
            )
            for name in ("openmpi4", "openmpi5")
        ),
        (
            "mpich",
            ["mpiexec", "mpirun", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"],
            ["HYDRA_", "MPIEXEC_", "I_MPI_", "MV2_"],
        ),
        ("slurm", ["srun", "sbatch", "salloc"], ["SLURM_", "SRUN_", "SBATCH_", "SALLOC_"]),
        ("aprun", ["aprun"], []),
    ],
)
def test_the_launcher_in_front_and_the_variables_before_it(name: str, fronts: list[str], own: list[str]) -> None:
    placed, notes = _read(name, "-n 4")
    for front in fronts:
        found, more = _read(name, f"time A=b exec C=d nohup /opt/{front} -n 4 program")
        launcher = FRONTS[name]
        assert found == placed
        assert f"{launcher}: passed over, as they are not the launcher's: A, C" in more
        assert f"{launcher}: passed over, as it is what is started: program" in more
        assert len(more) == len(notes) + 2 + (front in ("sbatch", "salloc"))
    for variable in own:
        with pytest.raises(InputError, match=f"{variable}X may bear on placement, and what it does is not modelled"):
            _read(name, f"A=b {variable}X=1 {fronts[0]} -n 4")
    with pytest.raises(InputError, match="is no option"):
        _read(name, "starter -n 4")


#: What a line with an option that is not known is told that there is.
KNOWN = {
    "openmpi4": "--map-by, --bind-to, --rank-by, -n, -N, --use-hwthread-cpus, --oversubscribe, --nooversubscribe, -host, -hostfile, "
    "-bycore, -byslot, -bynode, -pernode, -npersocket, -cpus-per-proc, -bind-to-core, -bind-to-socket",
    "openmpi5": "--map-by, --bind-to, --rank-by, -n, -N, --use-hwthread-cpus, --oversubscribe, --nooversubscribe, -host, -hostfile",
    "mpich": "-bind-to, -map-by, -n, -ppn, -hosts, -f",
    "slurm": "--cpu-bind, --distribution, --ntasks, --ntasks-per-node, --cpus-per-task, --threads-per-core, --hint, --nodes, --nodelist, --whole, "
    "--exact, --exclusive, --overcommit",
    "aprun": "-n, -N, -S, -d, -j, -cc, -ss",
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_not_known_is_answered_with_what_is(name: str) -> None:
    with pytest.raises(InputError) as unknown:
        _read(name, "--sideways -n 4")
    assert unknown.value.what == f"{FRONTS[name]}: '--sideways' is not known here"
    assert unknown.value.hint == f"on placement known are: {KNOWN[name]}"
    with pytest.raises(InputError) as program:
        _read(name, "program -n 4")
    assert program.value.hint == (
        f"leave out the program and what follows it, or write {FRONTS[name]} in front; known are: {KNOWN[name]}"
    )


_MPIRUN_STARTER = (
    {"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun"},
    {"-n", "-np", "--np"},
    {
        1: {
            *_dashes("host hostfile machinefile map-by bind-to rank-by npernode wdir"),
            *("-H", "-N", "-c", "-i", "-o", "-x"),
        },
        2: {"--mca", "-mca", "--gmca", "-gmca", "--prtemca"},
    },
    {
        "orterun": {"OMPI_MCA_hwloc_base_binding_policy": "none"},
        "prterun": {"PRTE_MCA_hwloc_default_binding_policy": "none"},
    },
)
_APRUN = (
    "-a -cc -d -D -e -F -j -L -m -N -p -P -r -R -S -sl -sn -t --cpu-binding --depth --environment-override --access-mode "
    "--cpus-per-cu --node-list --memory-per-pe --pes-per-node --pes-per-numa-node --specialized-cpus --cpu-time-limit"
)
#: By dialect the names of its programs, the options of the number of ranks, those with values, and what unbinds ranks.
STARTERS = {
    "openmpi": _MPIRUN_STARTER,
    "mpich": (
        {"mpirun", "mpiexec", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"},
        {"-n", "-np"},
        {
            1: {
                *_dashes("host hosts machinefile ppn wdir bind-to map-by"),
                *("-f", "-genvlist"),
            },
            2: {"-env", "-genv"},
        },
        {"hydra": {}, "mpich": {}},
    ),
    "aprun": (
        {"aprun"},
        {"-n", "--pes"},
        {
            1: set(_APRUN.split()),
        },
        {"aprun": {}},
    ),
}


@pytest.mark.parametrize("name", STARTERS)
def test_how_a_line_starts_ranks(name: str) -> None:
    programs, counts, values, unbound = STARTERS[name]
    starter = next(dialect.starter for dialect in all_dialects() if dialect.name == name)
    assert starter is not None
    assert (set(starter.programs), set(starter.counts)) == (programs, counts)
    assert {number: set(options) for number, options in starter.values.items()} == values
    assert starter.unbound == unbound


def test_which_words_of_sruns_line_belong_to_its_options() -> None:
    starter = next(dialect.starter for dialect in all_dialects() if dialect.name == "slurm")
    assert starter is not None
    assert (starter.programs, set(starter.counts)) == (("srun",), {"-n", "--ntasks", "-ntasks"})
    assert starter.unbound == {"srun": {"SLURM_CPU_BIND": "none"}} and list(starter.values) == [1]
    valued = set(starter.values[1])
    words = "--cpu-bind --distribution -m --cpus-per-task -c --nodes -N -w --nodelist -F --hint --mem -p -t -B --mem-bind -S --het-group"
    assert valued > set(words.split())
    bare = "-n --ntasks -l -v --exact --exclusive --whole --overcommit -O --multi-prog --spread-job --use-min-nodes --overlap"
    assert valued.isdisjoint(bare.split())


#: Variables by which launchers tell a rank its number, in the job and on its node, and those by which they bind.
RANKS = {
    "openmpi": (("OMPI_COMM_WORLD_RANK", "PMIX_RANK"), ("OMPI_COMM_WORLD_LOCAL_RANK",)),
    "mpich": (("PMI_RANK", "MV2_COMM_WORLD_RANK"), ("MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK")),
    "slurm": (("SLURM_PROCID",), ("SLURM_LOCALID",)),
    "aprun": (("ALPS_APP_PE",), ("PALS_LOCAL_RANKID",)),
}
PINS = {
    "openmpi": {
        "OMPI_MCA_hwloc_base_binding_policy": "Open MPI binds ranks",
        "PRTE_MCA_hwloc_default_binding_policy": "Open MPI binds ranks",
    },
    "mpich": {
        "I_MPI_PIN_DOMAIN": "Intel MPI pins ranks",
        "I_MPI_PIN_PROCESSOR_LIST": "Intel MPI pins ranks",
        "MV2_CPU_MAPPING": "MVAPICH2 binds ranks",
    },
    "slurm": {"SLURM_CPU_BIND": "srun binds its tasks"},
    "aprun": {"PALS_CPU_BIND": "PALS binds ranks"},
}


@pytest.mark.parametrize("name", RANKS)
def test_the_variables_of_a_launcher(name: str) -> None:
    dialect = next(one for one in all_dialects() if one.name == name)
    assert (dialect.rank, dialect.local_rank) == RANKS[name]
    assert dialect.pins == PINS[name]
    assert [(text.name, text.option, text.variable) for text in dialect.texts] == [(name, f"--{name}", "")]
    assert (dialect.allocator, dialect.with_threads) == (name == "slurm", name == "aprun")
