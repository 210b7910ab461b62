# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise place`, as a user calls it."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from nodewise.api.place import prepare_place
from nodewise.machine.sources import load_machine
from nodewise.placement.resolve import Request
from nodewise.runner.memory import HugePagePool
from tests.started import started

TWO = ["--machine", "synthetic:pack:2 core:4 pu:2"]


def place(*words, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_"))} | more
    return started("place", *words, env=env)


def places(*words):
    done = place(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["compact"], [[0], [1], [2], [3]]),
        (["--affinity", "granularity=fine,scatter"], [[0], [8], [2], [10]]),
        (["--subset", "1c,1t", "--affinity", "compact"], [[0], [8], [0], [8]]),
        (["--place-threads", "2c,1t", "--affinity", "granularity=fine,compact"], [[0], [2], [8], [10]]),
        (["--places", "cores", "--bind", "spread"], [[0, 1], [4, 5], [8, 9], [12, 13]]),
        (["--gomp", "5 4 3 2"], [[5], [4], [3], [2]]),
        (["--likwid", "S:scatter:4"], [[0], [8], [2], [10]]),
        (["--taskset", "-c 0-1"], [[0, 1]] * 4),
        (["--numactl", "--physcpubind=3"], [[3]] * 4),
        (["--hwloc", "package:1.core:0"], [[8, 9]] * 4),
    ],
)
def test_every_dialect_gives_json(words, expected):
    assert places(*words, "--threads", "4", *TWO)["places"] == expected


@pytest.mark.parametrize(
    "words",
    [
        ["--slurm", "--cpu-bind=cores"],
        ["--openmpi", "--map-by core"],
        ["--mpich", "-bind-to core"],
        ["--aprun", "-d 2"],
    ],
)
def test_every_launcher_gives_json(words):
    found = places(*words, "--ranks", "4", "--nodes", "2", "--threads", "2", *TWO)
    assert found["ranks"] == [2, 2]
    assert (found["nodes"], found["size"]) == (2, 4)
    assert len(found["places"]) == 4


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("omp", "OMP_NUM_THREADS=4 OMP_PLACES=threads OMP_PROC_BIND=close PROGRAM"),
        ("kmp", "OMP_NUM_THREADS=4 KMP_AFFINITY='granularity=fine,proclist=[0,1,2,3],explicit' PROGRAM"),
        ("gomp", "OMP_NUM_THREADS=4 GOMP_CPU_AFFINITY=0,1,2,3 PROGRAM"),
        ("likwid", "likwid-pin -c 0-3 PROGRAM"),
        ("subset", "OMP_NUM_THREADS=4 KMP_HW_SUBSET=:2c,2t KMP_AFFINITY=granularity=fine,compact PROGRAM"),
    ],
)
def test_it_is_written_in_a_dialect(dialect, expected):
    done = place("compact", "--threads", "4", "--to", dialect, *TWO)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected


def test_a_dialect_that_cannot_express_it_says_why():
    done = place("compact", "--threads", "4", "--to", "taskset", *TWO)
    assert done.returncode == 2
    assert "taskset cannot express this placement" in done.stderr
    assert "Traceback" not in done.stderr and not done.stdout


def test_files_are_written_where_asked(tmp_path):
    words = ["scatter", "--ranks", "3", "--threads", "2", "--nodes", "3", "--hosts", "a,b,c", *TWO]
    done = place(*words, "--to", "slurm", "--files", str(tmp_path / "new"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new/hostfile").read_text() == "a\nb\nc\n"
    done = place("balanced", "--ranks", "2", "--threads", "3", *TWO, "--to", "omp", "--files", str(tmp_path))
    assert done.returncode == 0, done.stderr
    script = tmp_path / "place-rank.sh"
    for rank, first in (("0", "0"), ("1", "8")):
        run = subprocess.run(
            [script, "env"], env={"SLURM_LOCALID": rank, "PATH": os.environ["PATH"], "KMP_AFFINITY": "none"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert f"OMP_PLACES={{{first}}}" in run.stdout
        assert "KMP_AFFINITY" not in run.stdout
    assert (
        subprocess.run([script, "env"], env={"PATH": os.environ["PATH"]}, capture_output=True, check=False).returncode
        == 2
    )


@pytest.mark.parametrize("folder", ["new", "a b/c", "."])
@pytest.mark.parametrize(
    ("dialect", "words", "named"),
    [
        ("openmpi4", ["--ranks", "20"], "--rankfile {}/rankfile"),
        ("openmpi5", ["--ranks", "20"], "--map-by rankfile:file={}/rankfile"),
        ("slurm", ["--ranks", "3", "--nodes", "3", "--hosts", "a,b,c"], "SLURM_HOSTFILE={}/hostfile"),
        ("mpich", ["--ranks", "4", "--nodes", "2"], "-f {}/hostfile"),
        ("omp", ["--ranks", "2"], "{}/place-rank.sh"),
    ],
)
def test_the_line_names_files_where_they_are(tmp_path, folder, dialect, words, named):
    where = (tmp_path / folder).resolve()
    done = place("balanced", "--threads", "1", *words, *TWO, "--to", dialect, "--files", str(where))
    assert done.returncode == 0, done.stderr
    assert named.format(where) in " ".join(shlex.split(done.stdout))
    assert (where / named.rpartition("/")[2]).is_file()


def test_explain_and_traps_are_reported():
    done = place(
        "--places", "cores", "--bind", "close", "--ranks", "4", "--threads", "2", "--zones", "none", "--explain", *TWO
    )
    assert done.returncode == 0
    assert "warning: 4 ranks of a node sit on the same processors, 0-3" in done.stderr
    assert "OMP_PROC_BIND=close: threads take neighbouring places in order." in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing says where threads are to go"),
        (["sideways"], "sideways"),
        (["--affinity", "compct"], "column 1"),
        (["--bind", "cores"], "belongs to OMP_PLACES"),
        (["--zones", "x", "compact"], "--zones 'x'"),
        (["--runtime", "x", "compact"], "--runtime 'x'"),
        (["compact", "--to", "klingon"], "unknown dialect"),
        (["compact", "--to", "OMP"], "unknown dialect: 'OMP'; did you mean omp?"),
        (["compact", "--to", "omp,likwid"], "one is written at a time"),
        (["scater"], "the placements are compact, scatter, balanced, os, spread, close"),
        (["spraed"], "did you mean spread?"),
        ([], "(compact, scatter, balanced, os, spread, close)"),
        (["compact", "-threads", "4"], "did you mean --threads?"),
        (["compact", "-ranks=4"], "did you mean --ranks?"),
        (["--from", "omp"], "each dialect is read by an option of its own: --"),
        (["compact", "--threads", "0"], "cannot place 0 threads"),
        (["compact", "--ranks", "0"], "cannot place 0 ranks"),
        (["compact", "--nodes", "3"], "do not fill 3 nodes"),
        (["--slurm", "--cpu-bind=cores"], "no number of ranks is given"),
        (["compact", "--to", "slurm", "--hosts", "a,b", "--ranks", "1"], "2 hosts are named for 1 node"),
        (["compact", *TWO, "--", "true"], "only on the machine that it runs on"),
        (["compact", "--ranks", "2", "--", "true"], "started by their launcher"),
    ],
)
def test_bad_input_gets_one_message(words, message):
    done = place(*words)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_is_run_in_place_and_the_kernel_says_so():
    allowed = sorted(os.sched_getaffinity(0))
    show = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['OMP_PLACES'], os.environ.get('KMP_AFFINITY'))"
    done = place("--likwid", str(allowed[-1]), "--", sys.executable, "-c", show, KMP_AFFINITY="none")
    assert done.stdout == f"[{allowed[-1]}] {{{allowed[-1]}}} None\n"


@pytest.mark.parametrize("how", [["--likwid", "N:0"], ["--isolation", "process"]])
def test_a_program_has_the_signals_that_a_shell_gives_it(how):
    shown = ["grep", "SigIgn", "/proc/self/status"]
    command = [sys.executable, "-m", "nodewise", "place", *how, "--", *shown]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    # below nohup, which has SIGHUP ignored, it has that, too
    assert done.stdout == subprocess.run(shown, capture_output=True, text=True, check=True).stdout


def test_a_rank_takes_its_own_share():
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("one processor")
    show = "import os; print(sorted(os.sched_getaffinity(0)))"
    seen = [
        place(
            "compact", "--ranks", "2", "--threads", "1", "--", sys.executable, "-c", show, OMPI_COMM_WORLD_LOCAL_RANK=r
        ).stdout
        for r in ("0", "1")
    ]
    assert len(set(seen)) == 2


def test_drawings_and_comparisons_are_written(tmp_path):
    done = place(
        "compact",
        "--threads",
        "4",
        "--compare",
        "scatter",
        "--svg",
        str(tmp_path / "a.svg"),
        "--png",
        str(tmp_path / "a.png"),
        *TWO,
    )
    assert done.returncode == 0, done.stderr
    assert "elsewhere: threads" in done.stdout
    assert (tmp_path / "a.svg").read_text().startswith("<svg ")
    head = (tmp_path / "a.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(head[16:20], "big") > 1000
    done = place("compact", "--threads", "4", "--compare", "places=cores bind=spread", *TWO)
    assert done.returncode == 0 and "4 to a core" in done.stdout
    for other in ("sideways", "colour=red", "places=pears"):
        assert place("compact", "--compare", other, *TWO).returncode == 2


def test_memory_is_checked_and_reported():
    assert places("compact", "--memory", "local", "--threads", "1", *TWO)["memory"] == "local"
    done = place("compact", "--memory", "bind:7", *TWO)
    assert done.returncode == 2 and "node 7 is not there" in done.stderr
    done = place("compact", "--memory", "sideways", *TWO)
    assert done.returncode == 2 and "column 1" in done.stderr
    done = place("compact", "--huge-pages", "gigantic", "--", "true")
    assert done.returncode == 2 and "no such huge pages" in done.stderr


def test_a_memory_policy_stands_before_the_program():
    words = [
        "--taskset",
        "-c 0-3",
        "--threads",
        "2",
        "--memory",
        "interleave:all",
        "--machine",
        "synthetic:numa:2 core:4 pu:1",
    ]
    done = place(*words, "--to", "numactl")
    assert done.stdout.strip() == "OMP_NUM_THREADS=2 numactl --cpunodebind=0 --interleave=0-1 PROGRAM"
    done = place(*words, "--to", "taskset")
    assert done.stdout.strip() == "OMP_NUM_THREADS=2 taskset -c 0-3 numactl --interleave=0-1 PROGRAM"


def test_an_invalid_value_in_the_environment_is_reported_before_a_run():
    env = {**os.environ, "OMP_PROC_BIND": "cores"}
    command = [sys.executable, "-m", "nodewise", "run", "--runs", "1", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert "warning: a runtime ignores OMP_PROC_BIND='cores'" in done.stderr


def test_everything_unbound_is_places_of_all_processors_for_a_dialect_and_nothing_for_the_system():
    assert places("--affinity", "none", "--threads", "2", *TWO)["places"] == [list(range(16))] * 2
    assert places("os", "--threads", "2", *TWO)["places"] is None


@pytest.mark.parametrize("words", [["compact", "--threads", "999999"], ["scatter", "--ranks", "100000"]])
def test_more_than_any_machine_holds_is_refused(words):
    done = place(*words, *TWO)
    assert done.returncode == 2 and "error: cannot place" in done.stderr and "65536" in done.stderr


def test_more_threads_than_processors_are_warned_of():
    done = place("compact", "--threads", "100", "--machine", "synthetic:core:2 pu:1")
    assert done.returncode == 0 and "warning: 100 threads are to share the 2 processors" in done.stderr
    assert "are to share" not in place("compact", "--threads", "16", *TWO).stderr


def test_what_gnus_runtime_refuses_is_reported_and_what_it_does_instead():
    found = places("--places", "croes", "--bind", "close", "--runtime", "gnu", "--threads", "2", *TWO)
    assert found["places"] == [[0], [1]] and "column 1" in found["notes"][0]


def test_a_place_outside_of_the_mask_is_launched_by_the_one_variable_that_expresses_it():
    done = place("--gomp", "5", "--threads", "1", "--machine", "synthetic:core:8 pu:1", "--allow", "0-3")
    assert done.returncode == 0 and "GOMP_CPU_AFFINITY=5 PROGRAM" in done.stdout and "mask narrower" not in done.stdout
    refused = place(
        "--gomp", "5", "--threads", "1", "--to", "omp", "--machine", "synthetic:core:8 pu:1", "--allow", "0-3"
    )
    assert refused.returncode == 2 and "outside of what this process may use" in refused.stderr


def test_the_launch_line_has_all_that_was_asked_for():
    machine = ("--machine", "synthetic:numa:2 core:2 pu:1")
    done = place("compact", *machine, "--threads", "2", "--memory", "interleave:all", "--huge-pages", "transparent")
    launch = next(line for line in done.stdout.splitlines() if line.startswith("launch"))
    assert "OMP_PLACES=cores OMP_PROC_BIND=close" in launch and "malloc.hugetlb=1" in launch
    assert launch.endswith("numactl --interleave=0,1 PROGRAM") or launch.endswith("numactl --interleave=0-1 PROGRAM")
    refused = place("compact", *machine, "--huge-pages", "sometimes")
    assert (refused.returncode, "no such huge pages: 'sometimes'" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scatter", "compact"], "two policies are named: scatter and compact"),
        (["--places", "cores", "scatter"], "the policy scatter and a text both say where threads go"),
        (["--taskset", "0-1"], "--taskset '-c 0-1'"),
    ],
)
def test_what_is_meant_otherwise_is_one_message(words, said):
    done = place(*words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_mask_of_taskset_is_reported():
    done = place("--taskset", "7", "--threads", "3", "--json", "--machine", "synthetic:core:8 pu:1")
    assert json.loads(done.stdout)["places"] == [[0, 1, 2]] * 3
    assert "taskset takes 7 for a mask: processors 0-2; a list is -c 7" in done.stderr


@pytest.mark.parametrize(
    ("words", "threads", "last"),
    [
        (["--taskset", "-c 0-15", "--threads", "20"], "0–19", 20),
        (["--hwloc", "package:0-1"], "0–15", 16),
        (["os", "--threads", "4"], "0–3", 4),
        (["--runtime", "gnu", "--places", "{0:16}", "--bind", "close"], "0–15", 16),
        (["--numactl", "--physcpubind=all", "--threads", "3"], "0–2", 3),
    ],
)
def test_what_is_planned_is_shown_where_it_is_the_whole_machine_too(words, threads, last):
    done = place(*words, *TWO)
    assert done.returncode == 0, done.stderr
    assert f"threads {threads} may move on processors 0-15\n" in done.stdout
    assert done.stdout.splitlines()[-1] == f"launch     OMP_NUM_THREADS={last} PROGRAM"
    with_memory = place(*words, "--memory", "interleave:0", *TWO).stdout
    assert with_memory.splitlines()[-1] == f"launch     OMP_NUM_THREADS={last} numactl --interleave=0 PROGRAM"


@pytest.mark.parametrize("policy", ["compact", "scatter", "spread"])
def test_how_many_levels_are_active_stands_beside_a_policy(policy):
    plain = places(policy, "--threads", "2,2", *TWO)
    assert places(policy, "--threads", "2,2", "--max-active-levels", "2", *TWO)["places"] == plain["places"]
    outer = places(policy, "--threads", "2,2", "--max-active-levels", "1", *TWO)
    assert outer["levels"] == [2, 1] and outer["threads"] == 2
    assert place(policy, "--max-active-levels", "x", *TWO).returncode == 2


@pytest.mark.parametrize("word", ["spread", "close"])
def test_what_openmp_calls_its_policies_is_placed_over_cores(word):
    named = places(word, *TWO, "--threads", "4")["places"]
    assert named == places("--places", "cores", "--bind", word, *TWO, "--threads", "4")["places"]
    assert len(named) == 4


@pytest.mark.parametrize("more", [("--memory", "local"), ("--huge-pages", "transparent"), ()])
def test_what_openmp_calls_its_policies_stands_before_a_command(more):
    code = "import os; print(*sorted(os.sched_getaffinity(0)), os.environ.get('OMP_PROC_BIND'))"
    done = place("close", *more, "--threads", "1", "--", sys.executable, "-c", code)
    assert done.returncode == 0 and done.stdout.split()[-1] in ("close", "true"), done.stderr
    assert place("close", *more, "--", "true").returncode == 0
    refused = place("spread", *more, "--places", "cores", "--", "true")
    assert refused.returncode == 2 and "the policy spread and a text" in refused.stderr


def test_a_comparison_is_not_for_a_command_and_each_map_has_a_name():
    refused = place("compact", "--compare", "close", "--", "true")
    assert refused.returncode == 2 and "--compare would do nothing" in refused.stderr
    shown = place("compact", "--threads", "2", "--compare", "close", *TWO).stdout.splitlines()
    assert [line for line in shown if line.endswith(":")] == ["compact:", "close:"]


def test_of_ranks_it_is_said_what_writes_them():
    shown = place("compact", "--ranks", "2", "--threads", "1", *TWO).stdout
    assert "launch     by a launcher, whose options --to writes: aprun, mpich" in shown


def test_a_policy_of_openmp_that_is_written_as_another_is_explained():
    for bind, note in (("primary", True), ("true", True), ("close", False), ("spread", False)):
        done = place("--places", "cores", "--bind", bind, "--threads", "3", "--explain", *TWO)
        assert (f"each thread is where {bind} puts it here" in done.stderr) == note, bind


def test_ranks_need_a_policy_also_where_memory_is_asked_for():
    done = place("--ranks", "2", "--memory", "local", "--", "true")
    assert done.returncode == 2 and "nothing says where the threads of true are to go" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--compare", ""], "--compare '': '' is neither a policy nor NAME=TEXT"),
        (["--compare", "kmp=compact"], "did you mean affinity?"),
        (["--compare", "scater"], "did you mean scatter?"),
        (["--svg", "-"], "--svg draws into a file, and - is none"),
        (["--png", "-"], "--png draws into a file, and - is none"),
        (["--ranks", "2", "--nodes", "2", "--to", "openmpi5", "--hosts", "a,,b"], "--hosts 'a,,b': a name is empty"),
        (["--memory", "locl"], "did you mean local?"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_may_be(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = place("compact", "--threads", "2", *words, *TWO)
    assert done.returncode == 2 and told in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_omp_places_names_is_no_policy_and_is_told_where_it_belongs():
    done = place("cores", *TWO)
    assert done.returncode == 2 and "unknown placement: 'cores'; did you mean --places cores?" in done.stderr


def test_weights_that_are_the_systems_are_told_with_the_line():
    done = place("compact", "--threads", "2", "--memory", "weighted-interleave:0=3,1=1", "--machine", "synthetic:node:2 core:4 pu:1")  # fmt: skip
    assert (
        "note: weights are the system's, for all programs: root writes 3 for node 0, 1 for node 1 into" in done.stderr
    )
    plain = place("compact", "--threads", "2", "--memory", "weighted-interleave:0,1", "--machine", "synthetic:node:2 core:4 pu:1")  # fmt: skip
    assert "weights" not in plain.stderr


def test_a_kind_of_object_that_is_misspelled_is_asked_about():
    done = place("--hwloc", "pakage:0", *TWO)
    assert done.returncode == 2 and "did you mean package?" in done.stderr


def test_blanks_between_hosts_are_none_of_their_names():
    done = place("compact", "--ranks", "2", "--threads", "1", "--nodes", "2", "--to", "openmpi4", "--hosts", "a, b", *TWO)  # fmt: skip
    assert "--host a:8,b:8 " in done.stdout, done.stderr


def test_what_asks_for_huge_pages_is_in_the_json():
    env = places("compact", "--threads", "2", "--huge-pages", "never", *TWO)["env"]
    assert env["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=0" and "OMP_PLACES" in env


def test_a_note_is_printed_once():
    done = place("--openmpi4", "--map-by core", "--ranks", "2", "--to", "openmpi4", *TWO)
    assert done.returncode == 0 and done.stderr.count("modelled is Open MPI 4.1") == 1


@pytest.mark.parametrize("reserved", [0, 8])
def test_huge_pages_of_which_none_are_reserved_are_noted(monkeypatch, reserved):
    pools = [HugePagePool(2 << 20, None, reserved, reserved)]
    monkeypatch.setattr("nodewise.runner.memory.huge_page_pools", lambda: pools)
    for kind in ("reserved", "transparent"):
        notes = prepare_place(load_machine(None, None), Request(policy="compact"), threads=1, huge_pages=kind).resolved.notes  # fmt: skip
        said = any("no huge pages are reserved here" in note for note in notes)
        assert said == (kind == "reserved" and not reserved)


def test_likwids_short_option_is_understood():
    assert places("-c", "S0:0-1@S1:0-1", *TWO)["places"] == places("--likwid", "S0:0-1@S1:0-1", *TWO)["places"]


def test_a_device_that_is_not_there_is_said():
    done = place("compact", "--threads", "2", *TWO, "--near", "gpu0")
    assert done.returncode == 2
    assert "--near: there is no device 'gpu0' here" in done.stderr


def test_the_list_of_policies_is_in_the_line_and_nested_teams_are_read():
    asked = (*TWO, "--places", "cores", "--bind", "spread,close")
    ran = place(*asked, "--threads", "2", "--to", "omp")
    assert ran.stdout == "OMP_NUM_THREADS=2 OMP_PLACES='{0,1}:8:2' OMP_PROC_BIND=spread,close PROGRAM\n"
    ran = place(*asked, "--threads", "2,3", "--to", "omp")
    assert ran.stdout.startswith("OMP_NUM_THREADS=2,3 OMP_MAX_ACTIVE_LEVELS=2 ")
    found = json.loads(place(*asked, "--threads", "2,3", "--json").stdout)
    assert found["levels"] == [2, 3] and found["threads"] == 6 and found["env"]["OMP_PROC_BIND"] == "spread,close"
    wrong = place(*asked, "--threads", "2,x")
    assert wrong.returncode == 2 and "one for each level" in wrong.stderr


def test_what_is_to_be_known_is_printed_before_a_command_takes_over():
    done = place("compact", "--threads", "9999", "--", "true")
    assert done.returncode == 0 and "9999 threads are to share" in done.stderr
