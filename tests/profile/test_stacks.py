# SPDX-License-Identifier: BSD-3-Clause
"""Call chains summed up, and as other tools read them."""

import json

from nodewise.profile.result import cut_share
from nodewise.profile.samples import Frame, Taken
from nodewise.profile.stacks import collapsed, speedscope, summed, tree, waited


def _taken(*names: str, waits: float | None = None) -> Taken:
    return Taken(1, 1, 0.0, tuple(Frame(name, "app", 0) for name in reversed(names)), waits)


SAMPLES = [
    _taken("main", "a"),
    _taken("main", "a"),
    _taken("main", "b;c\n"),
    _taken(),
    _taken("main", "read", waits=0.25),
]


def test_stacks_are_counted_from_the_outermost_function_on() -> None:
    assert summed(SAMPLES) == {("main", "a"): 2, ("main", "b;c\n"): 1, ("[unknown]",): 1}
    assert waited(SAMPLES) == {("main", "read"): 250_000}
    assert set(summed(SAMPLES, "rank 3")) == {("rank 3", *stack) for stack in summed(SAMPLES)}


def test_collapsed_stacks_are_a_line_each() -> None:
    assert collapsed(summed(SAMPLES)) == "[unknown] 1\nmain;a 2\nmain;b:c 1\n"


def test_speedscope_gets_a_profile_for_each_thread() -> None:
    told = json.loads(speedscope({"app (1)": SAMPLES}, 100, "app"))
    (profile,) = told["profiles"]
    names = [frame["name"] for frame in told["shared"]["frames"]]
    assert [[names[i] for i in stack] for stack in profile["samples"]] == [
        ["main", "a"],
        ["main", "a"],
        ["main", "b;c"],
        ["[unknown]"],
    ]
    assert profile["weights"] == [0.01] * 4 and abs(profile["endValue"] - 0.04) < 1e-12


def test_a_tree_has_what_is_below_each_function_the_most_first() -> None:
    root = tree(summed(SAMPLES))
    assert root["v"] == 4
    main, unknown = root["c"]
    assert (main["n"], main["v"], [child["n"] for child in main["c"]]) == ("main", 3, ["a", "b;c\n"])
    assert (unknown["n"], unknown["v"]) == ("[unknown]", 1)


def test_a_deep_recursion_is_drawn() -> None:
    deep = tree({tuple(f"f{i}" for i in range(20_000)): 1})
    assert deep["c"][0]["n"] == "f0"


def _chain(*functions: str, inside: str = "/tmp/app") -> Taken:
    return Taken(1, 1, 0.0, tuple(Frame(name, inside, 0) for name in functions))


def test_chains_without_their_beginning_are_counted() -> None:
    whole = [
        _chain("leaf", "main", "__libc_start_call_main", "_start"),
        _chain("work", "start_thread", "clone3"),
        _chain("main.run", "runtime.goexit"),
        _chain("_dl_relocate_object", "_dl_start"),
        # nothing is known of what has no name, of the kernel alone, and of what was compiled while it ran
        _chain("leaf", "[unknown]"),
        _chain("do_exit", inside="[kernel.kallsyms]"),
        _chain("java_method", inside="/tmp/perf-123.map"),
        _chain("inside", inside="[anon]"),
        _chain(),
    ]
    assert cut_share(whole) == 0
    # a leaf whose own variables are larger than what is copied, and a deep recursion
    assert cut_share([*whole, _chain("leaf"), *[_chain("deep", "deep", "deep")] * 2]) == 3 / (len(whole) + 3)
    assert cut_share([]) == 0
