# SPDX-License-Identifier: BSD-3-Clause
"""Programs that make their threads themselves, bound by the preload library; the kernel says where."""

import os
import re
import struct
import subprocess
from dataclasses import replace

import pytest

from nodewise.base.elf import Elf
from nodewise.base.errors import InputError
from nodewise.base.native import native_path
from nodewise.machine.sources import load_machine
from nodewise.runner.binding import binding_environment, choose_binding
from nodewise.runner.program import Program, inspect_program
from nodewise.search.space import Point
from nodewise.tuning.options import Options
from tests.runner.pin_programs import CONSTRUCTED, HEALTHY, SOURCE

ALLOWED = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(ALLOWED) < 2, reason="one processor")
A, B = ([*ALLOWED, 0, 0])[:2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pin")
    (folder / "program.cpp").write_text(SOURCE)
    for name, options in (("program", []), ("static", ["-static"])):
        command = ["g++", "-std=c++20", "-O1", "-pthread", *options, "program.cpp", "-o", name, "-ldl"]
        subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    (folder / "healthy.c").write_text(HEALTHY)
    (folder / "constructed.c").write_text(CONSTRUCTED)
    for words in (
        "-shared -fPIC constructed.c -o libconstructed.so",
        "healthy.c -o healthy -ldl",
        "healthy.c -o linked -Wl,--no-as-needed -L. -lconstructed -Wl,-rpath,$ORIGIN -ldl",
    ):
        subprocess.run(["gcc", "-O1", "-pthread", *words.split()], cwd=folder, check=True)
    return folder


def run(built, how, *more, pin=f"{{{A}}},{{{B}}}", name="program", **variables):
    env = {"LD_PRELOAD": str(native_path("libnodewise-pin.so")), "NODEWISE_PIN": pin, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [built / name, how, *more],
        env={**env, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout, done.stderr


def seats(text, who="thread"):
    return [sorted(map(int, m.split())) for m in re.findall(rf"^{who} \d+:(.*)$", text, re.MULTILINE)]


@pytest.mark.some(6)
@pytest.mark.parametrize("how", ["pthread", "std", "c11"])
def test_thread_i_takes_place_i_before_its_first_line(built, how):
    out, err = run(built, how, NODEWISE_PIN_MAIN="start")
    assert seats(out, "main") == [[A]]
    assert seats(out) == [[B], [A], [B]]
    assert err == ""


def test_the_main_thread_is_bound_with_the_first_that_it_makes(built):
    out, _ = run(built, "fork")
    assert seats(out, "main") == [ALLOWED, [A]]


def test_a_place_may_be_several_processors(built):
    out, _ = run(built, "pthread", pin=f"{A},{{{A},{B}}},{{{A}-{B}}}" if B == A + 1 else f"{A},{{{A},{B}}},{{{B},{A}}}")
    assert seats(out) == [[A, B], [A, B], [A]]


def test_a_program_that_looks_the_function_up_is_bound_too(built):
    assert seats(run(built, "dlsym")[0]) == [[B]]


def test_what_a_thread_asks_for_itself_wins_and_counts(built):
    out, err = run(built, "own", str(A), NODEWISE_PIN_VERBOSE="1")
    assert seats(out) == [[A], [A]]
    assert "thread 1 (0) left alone: its attributes name processors" in err


@pytest.mark.parametrize(
    ("skip", "expected"),
    [("1", [[A], [B], [A]]), ("0x1", [[A], [B], [A]]), ("1,3", [[A], [B], [A]]), ("0x2", [[B], [A], [A]])],
)
def test_skipped_threads_do_not_count(built, skip, expected):
    out, _ = run(built, "pthread", NODEWISE_PIN_SKIP=skip)
    # a skipped thread has its maker's processors, and here its maker is bound once a thread was counted
    found = seats(out)
    if skip in ("1", "0x1", "1,3"):
        assert found[0] == ALLOWED and found[1] == [B]
    else:
        assert found == expected


def test_many_made_at_once_are_shared_out_evenly(built):
    out, _ = run(built, "many")
    found = [s[0] for s in seats(out)]
    assert len(found) == 200 and all(len(s) == 1 for s in seats(out))
    # 208 threads and the main one take two places in turn; the 8 that make the others are not shown
    assert abs(found.count(A) - found.count(B)) <= 8


def test_a_forked_child_counts_anew(built):
    out, _ = run(built, "fork")
    assert seats(out, "child") == [[A, B]]
    assert seats(out) == [[B], [B]]


def test_a_program_that_it_starts_may_use_all_places(built):
    out, _ = run(built, "shell")
    listed = re.search(r"Cpus_allowed_list:\s*(\S+)", out)[1]
    # system() starts its shell by posix_spawn: the mask is the main thread's until a program there makes threads
    assert listed in (str(A), f"{A}-{B}", f"{A},{B}")


def test_verbose_reports_each_thread(built):
    _, err = run(built, "pthread", NODEWISE_PIN_VERBOSE="1")
    assert re.findall(r"thread (\d) \(\d+\) on (\S+)", err) == [
        ("0", f"{{{A}}}"),
        ("1", f"{{{B}}}"),
        ("2", f"{{{A}}}"),
        ("3", f"{{{B}}}"),
    ]


@pytest.mark.parametrize("text", ["x", "{0", "0,", "{}", "{1-0}", "{99999}", "{0},,{1}", "{0}x"])
def test_a_list_that_cannot_be_read_leaves_the_program_alone(built, text):
    out, err = run(built, "pthread", pin=text)
    assert seats(out) == [ALLOWED] * 3
    assert err.count("\n") == 1 and "no list of places" in err


def test_a_processor_that_is_not_there_is_reported_and_the_program_runs(built):
    out, err = run(built, "pthread", pin="{4000}")
    assert seats(out) == [ALLOWED] * 3
    assert err.count("the system refuses {4000}") == 3


#: Names with an underscore that glibc's headers bring, and that musl has too; the last four are weak.
KNOWN_TO_MUSL = {
    *("__errno_location", "__sched_cpucount", "__stack_chk_fail", "__cxa_finalize", "__gmon_start__"),
    *("_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"),
}

HEALTHY_WAYS = [
    *("dlopen", "linked", "thousand", "errno", "at once", "small stack", "small stack makes", "fork and exec"),
    *("fork among threads", "cancelled", "chooses", "main chose", "other user", "no file left", "main leaves"),
]


def run_healthy(built, how, pin, **variables):
    if how == "other user" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    env = {"PATH": os.environ["PATH"], **variables}
    if pin:
        env |= {"LD_PRELOAD": str(native_path("libnodewise-pin.so")), "NODEWISE_PIN": pin}
    name = "linked" if how == "linked" else "healthy"
    more = str(built / "libconstructed.so") if how == "dlopen" else str(A if how == "chooses" else B)
    command = [built / name, how, more]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("how", HEALTHY_WAYS)
@pytest.mark.parametrize("variables", [{}, {"NODEWISE_PIN_MAIN": "start"}, {"NODEWISE_PIN_VERBOSE": "1"}])
def test_a_program_runs_as_it_does_unbound(built, how, variables):
    alone = run_healthy(built, how, "")
    bound = run_healthy(built, how, f"{{{A}}},{{{B}}}", **variables)
    assert (alone.returncode, alone.stdout) == (5, "")
    assert (bound.returncode, bound.stdout) == (5, "")
    assert bound.stderr == "" or variables.get("NODEWISE_PIN_VERBOSE")


@pytest.mark.parametrize("how", ["thousand", "small stack", "fork among threads", "other user", "cancelled"])
def test_a_program_whose_places_are_refused_runs_as_it_does_unbound(built, how):
    assert run_healthy(built, how, "{4000}").returncode == 5


def test_threads_of_a_constructor_that_runs_before_the_librarys_own_are_bound(built):
    printed = run_healthy(built, "linked", f"{{{A}}},{{{B}}}", NODEWISE_PIN_VERBOSE="1").stderr
    assert re.findall(r"thread (\d) \(\d+\) on", printed) == ["0", "1", "2", "3"]


def test_what_the_main_thread_chose_itself_is_reported(built):
    printed = run_healthy(built, "main chose", f"{{{A}}},{{{A}}}", NODEWISE_PIN_VERBOSE="1").stderr
    assert "left alone: it chose its processors itself" in printed


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", "2> >(exec 0<&-)"])
def test_a_report_that_nobody_reads_is_no_failure(built, closed):
    command = f'{built}/healthy "at once" {closed}'
    env = {
        "LD_PRELOAD": str(native_path("libnodewise-pin.so")),
        "NODEWISE_PIN": f"{A},{B}",
        "NODEWISE_PIN_VERBOSE": "1",
    }
    full = ["bash", "-c", f"env {' '.join(f'{k}={v}' for k, v in env.items())} {command}"]
    assert subprocess.run(full, check=False, timeout=60).returncode == 5


def test_threads_of_helping_libraries_and_bound_runtimes_are_left_alone(built, tmp_path):
    for name in ("libucs.so.0", "libgomp-own.so.1", "libother.so"):
        (tmp_path / name).write_bytes((built / "libconstructed.so").read_bytes())
    seen = {}
    for name in ("libucs.so.0", "libgomp-own.so.1", "libother.so"):
        env = {"LD_PRELOAD": str(native_path("libnodewise-pin.so")), "NODEWISE_PIN": f"{A},{B}", "OMP_PLACES": "{0}"}
        command = [built / "healthy", "dlopen", tmp_path / name]
        env["NODEWISE_PIN_VERBOSE"] = "1"
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 5
        seen[name] = done.stderr
    assert seen["libucs.so.0"].count("left alone: a helper of its library") == 3
    assert seen["libgomp-own.so.1"].count("left alone: OpenMP's runtime binds it") == 3
    assert seen["libother.so"].count("left alone") == 0


def test_programs_are_distinguished(built):
    program = inspect_program(built / "program")
    assert (program.linkage, program.threads, program.openmp) == ("dynamic", True, "")
    assert inspect_program(built / "static").linkage == "static"
    assert choose_binding(inspect_program(built / "static")).name == "mask"
    assert "linked statically" in choose_binding(inspect_program(built / "static")).why
    assert choose_binding(program).name == "preload"
    assert choose_binding(Program("script")).name == "openmp"
    assert choose_binding(Program("elf", "dynamic", threads=True, guarded=True)).name == "mask"
    assert choose_binding(Program("elf", "static", openmp="static")).name == "openmp"


def linked_for(built, loader):
    name = built / f"for-{loader.rpartition('/')[2]}"
    options = ["-std=c++20", "-pthread", f"-Wl,--dynamic-linker={loader}"]
    subprocess.run(["g++", *options, "program.cpp", "-o", name, "-ldl"], cwd=built, check=True, capture_output=True)
    return name


def test_a_program_of_another_c_library_is_held_by_a_mask_and_that_is_reported(built):
    path = linked_for(built, "/lib/ld-musl-x86_64.so.1")
    binding = choose_binding(inspect_program(path))
    assert binding.name == "mask"
    assert "its loader is /lib/ld-musl-x86_64.so.1" in binding.why
    env, _ = binding_environment([str(path)], [(A,)], {"PATH": ""})
    assert env == {"OMP_NUM_THREADS": "1"}


def test_the_own_loader_by_another_name_is_the_own_loader(built, tmp_path):
    loader = tmp_path / "ld.so"
    loader.symlink_to(Elf((built / "program").read_bytes()).interpreter)
    path = linked_for(built, str(loader))
    assert choose_binding(inspect_program(path)).name == "preload"
    assert seats(run(built, "pthread", name=path.name)[0]) == [[B], [A], [B]]


def test_a_program_for_another_processor_is_held_by_a_mask_and_that_is_reported(built):
    data = bytearray((built / "program").read_bytes())
    data[18:20] = (183 if data[18] != 183 else 62).to_bytes(2, "little")
    (built / "elsewhere").write_bytes(data)
    binding = choose_binding(inspect_program(built / "elsewhere"))
    assert (binding.name, "another kind of processor" in binding.why) == ("mask", True)


def test_a_program_of_32_bits_is_held_by_a_mask_and_that_is_reported(built):
    machine = int.from_bytes((built / "program").read_bytes()[18:20], "little")
    loader = b"/lib/ld-linux.so.2\0"
    header = struct.pack("<16s HHIIIIIHHHHHH", b"\x7fELF\1\1\1", 3, machine, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 3, 84, 84, 84, len(loader), len(loader), 4, 1)
    (built / "narrow").write_bytes(header + segment + loader)
    program = inspect_program(built / "narrow")
    assert (program.linkage, program.foreign) == ("dynamic", "it is a program of 32 bits")
    assert choose_binding(replace(program, threads=True)).name == "mask"
    assert choose_binding(program).name == "openmp"


def test_the_library_names_nothing_that_musl_lacks():
    """Programs that are bound start others, which have the library in their environment too."""
    library = Elf(native_path("libnodewise-pin.so").read_bytes())
    assert not {name for name in library.imports() if name.endswith("_np") or "atfork" in name}
    assert not [name for name in library.imports() if name.startswith("_") and name not in KNOWN_TO_MUSL]


def test_a_tune_holds_a_threaded_program_by_a_mask_alone(built):
    """As a search starts it: what is kept of it has to work without nodewise, so nothing is preloaded."""
    machine = load_machine(None)
    for name in ("program", "static"):
        setting = Options(machine, [str(built / name), "pthread"], ["threads", "placement"], {}).setting(
            Point({"threads": 1, "placement": "compact"})
        )
        assert "LD_PRELOAD" not in setting.env and "NODEWISE_PIN" not in setting.env
        assert setting.mask == (machine.allowed[0],)


def test_ways_are_checked_and_preloads_are_kept(built):
    env, binding = binding_environment(
        [str(built / "program")], [(A,)], {"LD_PRELOAD": "/lib/x.so", "PATH": ""}, "preload"
    )
    assert binding.name == "preload"
    assert env["LD_PRELOAD"].endswith("libnodewise-pin.so:/lib/x.so")
    with pytest.raises(InputError, match="threads cannot be bound by"):
        binding_environment(["true"], [(A,)], {}, "magic")
