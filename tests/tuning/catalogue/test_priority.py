# SPDX-License-Identifier: BSD-3-Clause
"""Which knobs are worth a search's time: by where a program spends its own, and by the runs that there are."""

from dataclasses import replace

import pytest

from nodewise.machine.sources import load_machine
from nodewise.runner.loaded import Loaded
from nodewise.runner.profile import ANONYMOUS, ENOUGH, KERNEL, Profile
from nodewise.tuning.catalogue.choose import allocator_knob, knobs_for
from nodewise.tuning.catalogue.knob import Choice, Knob, Setter
from nodewise.tuning.catalogue.priority import RUNS_A_VALUE, Spent, matches, prioritize_knobs, set_by_command
from nodewise.tuning.catalogue.read import load_catalogue
from nodewise.tuning.options import Options
from nodewise.tuning.selection import Offer
from nodewise.tuning.wanted import Wanted

CATALOGUE = load_catalogue()
BLAS, LIBC, APP, GOMP = "/opt/libopenblasp-r0.3.21.so", "/lib/libc.so.6", "/home/app", "/lib/libgomp.so.1.0.0"
JVM = "/opt/jdk/lib/server/libjvm.so"
#: Names of files, as `spent` takes them.
FILES = {"BLAS": BLAS, "LIBC": LIBC, "GOMP": GOMP, "JVM": JVM, "ANONYMOUS": ANONYMOUS, "KERNEL": KERNEL}
USAGE = {"user_s": 9.0, "system_s": 1.0, "minor_faults": 1000.0, "peak_bytes": 1e6, "context_switches": 100.0}


def machine(text="synthetic:core:4 pu:2", memory_bytes=64 << 30):
    made = load_machine(text)
    flags = ("avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd")
    processor = replace(made.processor, vendor="AuthenticAMD", flags=flags)
    return replace(made, processor=processor, memory_bytes=memory_bytes)


def spent(allocation=0.0, kernel=True, samples=1000, **files):
    """What a run of the app spent its time in, by a file's name in capitals; the rest in its own."""
    shares = {FILES[name]: share for name, share in files.items()}
    shares[APP] = 1 - sum(shares.values())
    mapped = tuple(dict.fromkeys([APP, LIBC, *shares]))
    files_only = [f for f in mapped if f.startswith("/")]
    profile = Profile(samples, kernel, shares, dict.fromkeys(files_only, 1.0), {APP: 1.0}, allocation)
    return Loaded(APP, "dynamic", mapped=tuple(files_only), processes=1, profile=profile)


def knob(name="k", worth=50, values=("a", "b"), **fields):
    choices = tuple(Choice(v, v) for v in values)
    return Knob(name, "lib", "Lib", Setter("K"), choices, "m", "h", "https://x", "u", worth=worth, **fields)


def prioritized(loaded, usage=USAGE, runs=None, environment=None, **fields):
    knobs = knobs_for(loaded, machine(), environment or {}, CATALOGUE, usage=usage, **fields)
    return {w.knob.name: w for w in prioritize_knobs((*knobs, ALLOCATOR), CATALOGUE, loaded, usage, runs)}


ALLOCATOR = replace(
    knob("allocator", 60, ("jemalloc", "mimalloc"), time=("[allocation]", "[faults-again]")), title="memory allocator"
)


def tried(found):
    return [name for name, w in found.items() if w.tried]


# by what the time is spent in


def test_a_library_without_its_share_of_the_time_gets_no_axis():
    found = prioritized(spent(BLAS=0.04))
    assert not found["openblas-core-type"].tried and "OpenBLAS: 4% of the time" in found["openblas-core-type"].reason
    assert "below 5%" in found["openblas-core-type"].reason
    found = prioritized(spent(BLAS=0.06))
    assert tried(found)[0] == "openblas-core-type" and found["openblas-core-type"].share == pytest.approx(0.06)


def test_a_program_that_allocates_gets_another_allocator_first():
    assert "allocator" not in tried(prioritized(spent(LIBC=0.3, BLAS=0.3, allocation=0.02)))
    found = prioritized(spent(LIBC=0.5, BLAS=0.2, allocation=0.4))
    assert tried(found)[:2] == ["allocator", "openblas-core-type"]
    assert "malloc-thread-cache" in tried(found) and "malloc-mmap-threshold" not in tried(found)


def test_an_allocator_of_the_programs_own_counts_as_giving_out_memory():
    loaded = spent()
    files = {**loaded.profile.files, APP: 0.7, "/opt/libjemalloc.so.2": 0.3}
    loaded = replace(
        loaded, mapped=(*loaded.mapped, "/opt/libjemalloc.so.2"), profile=replace(loaded.profile, files=files)
    )
    assert prioritized(loaded)["allocator"].share == pytest.approx(0.3, abs=0.001)


def test_only_faults_for_memory_given_back_before_speak_for_keeping_it():
    first = {**USAGE, "minor_faults": 2e6, "peak_bytes": 2e6 * 4096}
    assert "malloc-mmap-threshold" not in tried(prioritized(spent(), first))
    again = {**first, "peak_bytes": 1e6}
    assert "malloc-mmap-threshold" in tried(prioritized(spent(), again))
    # no more than the kernel's own time
    assert prioritized(spent(), {**again, "system_s": 0.1})["malloc-mmap-threshold"].share == pytest.approx(0.1 / 9.1)


def test_threads_that_wait_speak_for_ways_to_wait():
    assert "wait" not in tried(prioritized(spent(GOMP=0.01)))
    assert "wait" in tried(prioritized(spent(GOMP=0.3)))
    assert "wait" in tried(prioritized(spent(GOMP=0.01), {**USAGE, "context_switches": 2e5}))


def test_putting_a_thread_to_sleep_and_waking_it_takes_ten_microseconds():
    waiting = Spent(spent(), {**USAGE, "context_switches": 1e5}, CATALOGUE).share(("[waiting]",), "lib")
    # a second of the ten that were worked
    assert waiting == pytest.approx(0.1)


def test_a_pool_that_the_user_has_set_is_tried_though_few_wait():
    """With too few threads in it they do not come to wait for each other; who waits, does so outside of it."""
    quiet = {"context_switches": 10.0, "user_s": 1.0, "system_s": 0.0}
    for set_by_user in (False, True):
        pool = knob("pool", time=("[waiting]",), set_by_user=set_by_user)
        (found,) = prioritize_knobs([pool], (), usage=quiet)
        assert found.tried == set_by_user
        assert (found.promise > 10) == set_by_user


def test_a_runtime_is_there_for_all_of_its_process():
    loaded = spent(JVM=0.02, ANONYMOUS=0.9)
    assert tried(prioritized(loaded))[0] == "java-collector" and prioritized(loaded)["java-collector"].share == 1
    within = {**loaded.profile.within, JVM: 0.03}
    assert not any(
        "java" in name for name in tried(prioritized(replace(loaded, profile=replace(loaded.profile, within=within))))
    )


def test_without_a_profile_worth_alone_counts_and_faults_are_still_known():
    blind = replace(spent(BLAS=0.0), profile=Profile(missing="no"))
    found = prioritized(blind)
    assert found["openblas-core-type"].share is None and tried(found)[0] == "openblas-core-type"
    assert "nobody knows" in found["openblas-core-type"].reason and "allocator" in tried(found)
    assert "malloc-mmap-threshold" not in tried(found)
    few = spent(samples=ENOUGH - 1, BLAS=0.0)
    assert prioritized(few)["openblas-core-type"].share is None
    assert prioritized(spent(samples=ENOUGH, BLAS=0.0))["openblas-core-type"].share == 0
    assert prioritize_knobs([], CATALOGUE) == ()


def test_shares_of_time_in_user_mode_become_shares_of_all_time():
    found = prioritized(spent(kernel=False, BLAS=0.5, LIBC=0.2, allocation=0.2), {**USAGE, "system_s": 3.0})
    assert found["openblas-core-type"].share == pytest.approx(0.5 * 9 / 12)
    assert found["malloc-arenas"].share == pytest.approx(0.2 * 9 / 12)


def test_what_lies_in_the_programs_own_file_is_not_known_to_be_little():
    static = replace(spent(), linkage="static", marks=("OPENBLAS_CORETYPE", "GLIBC_TUNABLES"), mapped=(APP,))
    found = prioritized(static)
    assert found["openblas-core-type"].share is None and found["openblas-core-type"].tried
    assert found["allocator"].share is None


def test_what_is_known_may_say_yes_where_a_part_is_not_known_but_never_no():
    def share(switches):
        found = Spent(spent(), {**USAGE, "context_switches": switches}, CATALOGUE)
        return found.share(("[waiting]", "libnotmapped.so*"), "lib")

    assert share(100.0) is None
    assert share(1e9) == 1.0


# by the runs that there are


def test_each_further_value_of_a_knob_promises_less():
    good, other = knob("good", 80, ("a", "b", "c")), knob("other", 60, ("a", "b"))
    given = [
        {
            w.knob.name: len(w.knob.values) - 1
            for w in prioritize_knobs([other, good], (), runs=n * RUNS_A_VALUE)
            if w.tried
        }
        for n in range(7)
    ]
    assert given == [
        # what promises much has one value however few runs there are
        {"good": 1},
        {"good": 1},
        {"good": 1, "other": 1},
        {"good": 2, "other": 1},
        {"good": 2, "other": 2},
        {"good": 3, "other": 2},
        {"good": 3, "other": 2},
    ]


def test_what_promises_little_is_not_tried_in_a_few_runs():
    (found,) = prioritize_knobs([knob("some", 59, ("a",))], (), runs=RUNS_A_VALUE - 1)
    assert not found.tried and "too few runs" in found.reason
    (found,) = prioritize_knobs([knob("good", 60, ("a",))], (), runs=RUNS_A_VALUE - 1)
    assert found.tried


def test_a_knob_with_many_values_does_not_keep_smaller_ones_out():
    many, small = knob("many", 70, tuple(map(str, range(9)))), knob("small", 60, ("a",))
    found = {w.knob.name: w for w in prioritize_knobs([many, small], (), runs=12)}
    assert found["small"].tried and found["many"].knob.values == ("default", "0", "1")
    assert "2 of 9 values" in found["many"].reason and found["many"].dropped == tuple("2345678")
    found = {w.knob.name: w for w in prioritize_knobs([many, small], (), runs=4)}
    assert not found["small"].tried and "too few runs" in found["small"].reason


def test_of_fewer_values_the_users_own_is_one():
    own = replace(knob(values=("mine", "a", "b")), default="mine", set_by_user=True)
    (found,) = prioritize_knobs([own], (), runs=4)
    assert found.knob.values == ("mine", "unset") and found.dropped == ("a", "b")
    (found,) = prioritize_knobs([own], (), runs=8)
    assert found.knob.values == ("mine", "unset", "a")


def test_little_worth_is_for_who_asks():
    (found,) = prioritize_knobs([knob(worth=29)], ())
    assert not found.tried and "--axes k" in found.reason


# what is offered


def test_what_the_command_says_is_left_alone():
    loaded = spent(JVM=0.3)
    assert "java-collector" in prioritized(loaded)
    for word in ("-XX:+UseZGC", "-XX:+UseEpsilonGC"):
        assert "java-collector" not in prioritized(loaded, command=("java", word, "Main"))
    assert "java-heap-start" not in prioritized(loaded, command=("java", "-Xmx2g", "Main"))
    assert "java-heap-start" not in prioritized(loaded, environment={"_JAVA_OPTIONS": "-Dx=y -Xms1g"})
    assert "java-heap-start" in prioritized(loaded, environment={"_JAVA_OPTIONS": "-Dx=y"})
    assert not set_by_command(knob(), ("K=1",), {}) and set_by_command(knob(also=("OTHER",)), (), {"OTHER": "1"})


def test_no_value_takes_more_memory_than_there_is():
    go = Loaded(APP, "static", marks=(" Go buildinf:",))

    def values(peak, memory=64 << 30):
        found = knobs_for(go, machine(memory_bytes=memory), {}, CATALOGUE, usage={"peak_bytes": float(peak)})
        return {k.name: k for k in found}

    assert set(values(1 << 20)["go-collector"].values) == {"default", "50", "200", "400", "1600"}
    assert set(values(16 << 30)["go-collector"].values) == {"default", "50", "200"}
    assert values(1)["go-memory-limit"].choices[0].text == f"{32 << 10}MiB"
    # where nobody knows how much there is, no share of it is offered
    assert "go-memory-limit" not in values(1, 0)


def test_programs_are_known_by_what_is_theirs():
    marks = ("invalid value for NODE_OPTIONS (unterminated string)",)
    assert "node-young-space" in prioritized(Loaded(marks=marks))
    assert "node-young-space" not in prioritized(Loaded(marks=("NODE_OPTIONS",), linkage="static"))
    assert matches("/v/site-packages/numba/_dispatcher.cpython-311.so", ["*/numba/_dispatcher.*.so"])
    assert not matches("/v/other/_dispatcher.cpython-311.so", ["*/numba/_dispatcher.*.so"])


def test_tunables_of_one_allocator_are_not_set_for_another():
    (malloc,) = [k for k in knobs_for(spent(), machine(), {}, CATALOGUE) if k.name == "malloc-thread-cache"]
    other = replace(ALLOCATOR, setter=Setter("LD_PRELOAD", "preload", replaces="x"))
    options = Options(machine(), ("x",), ("knobs",), {}, Wanted(), knobs=(malloc, other))
    start = options.space.default
    tuned, moved = {"malloc-thread-cache": "127"}, {"allocator": "jemalloc"}
    assert options.space.allowed(start.having(**tuned)) and options.space.allowed(start.having(**moved))
    assert not options.space.allowed(start.having(**tuned, **moved))


# the axes of a tune


def offer(loaded, names=None, usage=USAGE, runs=200, environment=None):
    made = Offer(replace(machine(), source="live"), ("./app",), names, environment or {}, Wanted())
    made.recall(loaded.to_json())
    made.used(usage)
    return made, made.after_the_first_run(runs)


def test_the_axes_of_a_tune_follow_the_profile():
    made, options = offer(spent(BLAS=0.01, LIBC=0.02))
    assert "openblas-core-type" not in options.space.default
    made, options = offer(spent(BLAS=0.8))
    assert "openblas-core-type" in options.space.default
    guesses = {p["openblas-core-type"] for p in made.first_guesses(options.space.default)}
    assert guesses == {"Haswell", "SkylakeX", "Zen"}
    assert made.reasons()["openblas-core-type"]["share"] == pytest.approx(0.8)


@pytest.mark.parametrize(("share", "guessed"), [(0.15, False), (0.5, True)])
def test_what_promises_much_is_tried_first_of_all(share, guessed):
    made, options = offer(spent(BLAS=share))
    default = options.space.default
    assert "openblas-core-type" in default
    assert any("openblas-core-type" in options.space.changed(p) for p in made.first_guesses(default)) == guessed


def test_what_is_left_out_is_reported_with_the_reason():
    made, _ = offer(spent(LIBC=0.6, BLAS=0.01, allocation=0.5), runs=60)
    left_out = made.left_out()
    assert "below 5%" in left_out["openblas-core-type"] and not any("arenas" in name for name in left_out)
    made, options = offer(spent(BLAS=0.9), runs=20)
    assert options.space.default["openblas-core-type"] == "default"
    assert [name for name, why in made.left_out().items() if "too few runs" in why] == [
        "openblas-core-type=Haswell, Zen"
    ]
    made, _ = offer(replace(spent(), profile=Profile(missing="the system does not allow it")))
    assert "the system does not allow it" in made.left_out()["profile"]
    made, _ = offer(spent(BLAS=0.01), names=("threads",))
    assert made.left_out() == {}


def test_no_openmp_for_a_program_without_it():
    go = replace(spent(), marks=(" Go buildinf:",), mapped=(APP,), linkage="static")
    made, options = offer(go)
    axes = {a.name for a in options.space.axes}
    assert "go-collector" in axes and not {"schedule", "wait", "allocator"} & axes
    assert not any("OMP" in w.knob.setter.variable for w in made.prioritized)


def test_a_knob_that_is_named_has_all_its_values_whatever_the_time_says():
    _, options = offer(spent(BLAS=0.0), names=("threads", "openblas-core-type"), runs=20)
    axis = next(a for a in options.space.axes if a.name == "openblas-core-type")
    assert set(axis.values) == {"default", "Haswell", "SkylakeX", "Zen"}


def test_the_allocators_of_this_machine_bear_on_what_allocates():
    found = allocator_knob(spent(), {}, CATALOGUE)
    if found is None:
        pytest.skip("no other allocator here")
    assert found.time == ("[allocation]", "[faults-again]")


def test_kernel_time_is_that_of_the_profile():
    mpi = replace(spent(KERNEL=0.2), mapped=(APP, LIBC, "/usr/lib/libopen-pal.so.40.30.2"))
    assert prioritized(mpi)["ompi-yield"].share == pytest.approx(0.2)


def test_what_somebody_has_set_is_tried_before_what_is_worth_more_by_itself():
    usual = knob("usual", 70, ("default", "a"))
    mine = replace(knob("mine", 40, ("-Xint", "unset")), default="-Xint", set_by_user=True)
    found = prioritize_knobs((replace(usual, default="default"), mine), CATALOGUE, runs=RUNS_A_VALUE)
    assert [(one.knob.name, one.tried) for one in found] == [("mine", True), ("usual", False)]
    found = prioritize_knobs(
        (replace(usual, default="default"), replace(mine, set_by_user=False)), CATALOGUE, runs=RUNS_A_VALUE
    )
    assert [(one.knob.name, one.tried) for one in found] == [("usual", True), ("mine", False)]
