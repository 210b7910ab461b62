# SPDX-License-Identifier: BSD-3-Clause
"""A page of every kind that nodewise writes, of runs that are made of numbers: with what makes pages wide, long or empty."""

import datetime
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from benchmarks._check.faults import plant
from benchmarks._check.fleets import NOW, regular
from nodewise.history.entry import point_of
from nodewise.history.fleet import fleet_of
from nodewise.history.store import Store
from nodewise.history.trend import trends_of
from nodewise.nodes.check import judge, new_fleet
from nodewise.nodes.rule import joined, own_rules
from nodewise.nodes.site import Site
from nodewise.profile.openmp import OpenMPShare
from nodewise.profile.result import (
    FEWEST,
    LineShare,
    Profiled,
    ProfileResult,
    ThreadShare,
    calling_count,
    function_shares,
)
from nodewise.profile.samples import Frame, Life, Recorded, Taken
from nodewise.report.pages.check import check_page
from nodewise.report.pages.fleet import fleet_page as fleet_nodes_page
from nodewise.report.pages.history import history_page
from nodewise.report.pages.profile import profile_page
from nodewise.report.pages.serve import live_page, overview_page
from nodewise.report.pages.write import write_page
from nodewise.runner.setting import Setting
from nodewise.verdicts.live import Live, read_live
from tests.history.entries import entry
from tests.report.stored import judged, roofline_page_of, series, study_page_of, study_result
from tests.surfaces import machine
from tests.verdicts.cases import BUSY, Runs, compared, tuned, usage
from tests.verdicts.test_scale import scaled

#: One word without a place to break, as paths and hashes are.
LONG = "/scratch/projects/a-long-name-of-a-project/" + "0123456789abcdef" * 4 + ".dat"
KNOBS = {f"SOLVER_OPTION_{i:02}": f"value-{i}" for i in range(17)}


def tune_page(folder: Path) -> Path:
    """48 cores, 17 knobs, thread counts up to 48, settings of one run that look faster than the one that was confirmed, and failures."""
    baseline = Setting(("./app", LONG))
    search = [(baseline, Runs(9.0, fields={"usage": _usage(9.0)}), range(1, 7))]
    confirm = {"baseline": Runs(9.0, fields={"usage": _usage(9.0)}, change=_busy)}
    best = None
    for threads in (1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 46, 48):
        for policy in ("os", "compact", "scatter"):
            knobs = KNOBS if policy == "compact" else {}
            setting = Setting(
                ("./app", LONG),
                {"threads": threads, "placement": policy, **knobs},
                {"OMP_NUM_THREADS": str(threads), **knobs},
            )
            seconds = 8.0 / min(threads, 28) + 0.4 + 0.01 * threads * (policy == "scatter")
            few = threads in (28, 32, 36)
            runs = Runs(seconds * (0.97 if few else 1.0), fields={"usage": _usage(seconds)}, change=_failing(threads))
            search.append((setting, runs, range(1, 2) if few else range(1, 5)))
            if (threads, policy) == (24, "compact"):
                best = setting
                confirm[setting.key] = Runs(seconds, fields={"usage": _usage(seconds)})
    assert best is not None
    tuned(folder, search, confirm, candidate=best.key, machine=machine(48, 1).to_json(), command=["./app", LONG])
    return write_page(folder)


def _usage(seconds: float) -> dict[str, float]:
    return usage(seconds, peak_bytes=3.2e9, context_switches=431.0, migrations=3.0, minor_faults=9e5, cycles=8.1e12)


def _busy(run: int) -> dict[str, tuple[str, ...]]:
    return {"marks": (BUSY,)} if run % 9 == 0 else {}


def _failing(threads: int) -> Callable[[int], dict[str, object]]:
    return lambda run: {"error": "cut off after 3.2 s", "cut_off": True} if threads == 1 else {}


def compare_page(folder: Path) -> Path:
    """Seven commands, two of them with long words, one that failed."""
    names = ["./solver", f"./solver --input {LONG}", *(f"./solver-{i} --threads {i} --mode fast" for i in range(4))]
    runs = {name: Runs(1.0 + 0.1 * i, fields={"usage": _usage(1.0)}) for i, name in enumerate(names)}
    runs["./broken"] = Runs(1.0, change=lambda run: {"error": "exit code 3"})
    compared(folder, runs)
    return write_page(folder)


def run_page(folder: Path) -> Path:
    """One command."""
    compared(folder, {f"./solver {LONG}": Runs(1.0, change=_busy)})
    return write_page(folder)


def confirm_page(folder: Path) -> Path:
    """A promise that is held."""
    promise = {"experiment": "e", "taken_at": "then", "one": "./app", "other": f"./app {LONG}", "launch_line": "./app"}
    promise |= {"command": ["./app"], "differences": [], "notes": [], "ratio": 1.5, "low": 1.4, "high": 1.6}
    compared(folder, {"./app": Runs(1.5), f"./app {LONG}": Runs(1.0)}, kind="confirm", promise=promise)
    return write_page(folder)


def scale_page(folder: Path) -> Path:
    """Counts that lie close to each other at the end."""
    scaled(folder, counts=(1, 2, 4, 8, 10, 12, 14, 15, 16))
    return write_page(folder)


def study_page(folder: Path) -> Path:
    """One run, with variants, peers, limits, and a README with a long line of code."""
    readme = f"# title\n\nWhat it is, in a sentence that goes on.\n\n    {LONG} {LONG}\n\n| a | b |\n|---|---|\n| {LONG} | 2 |\n"
    return study_page_of(study_result(), readme, folder)


def points_page(folder: Path) -> Path:
    """A study of several sizes, each of many knobs."""
    results = [study_result({"n": str(2**k), **KNOBS}, 0.025 * k) for k in (10, 11, 12)]
    return study_page_of(results, "# title\n\ntext\n", folder)


def front_page(folder: Path) -> Path:
    """A study of two metrics, with its picture."""
    given = [
        series(name, "peer" if name == "library" else "variant", 0.025, ratio=2.0 + i, mbs=500.0 / (1 + i))
        for i, name in enumerate(("blocked", "plain", "a-variant-of-a-name-that-is-long", "library"))
    ]
    result = replace(judged(given, picture=("ratio", "mbs")), report_lines=("take blocked", LONG))
    return study_page_of(result, "# title\n", folder)


def roofline_page(folder: Path) -> Path:
    """Eight kernels."""
    from tests.report.stored import roofline_result

    return roofline_page_of(roofline_result(), folder)


def trends_page(folder: Path) -> Path:
    """Three trends, one with a change."""
    folder.mkdir()
    name = f"./solver <b>input</b> {LONG}"
    with Store(str(folder / "h.sqlite")) as store:
        store.add(entry(i, 1.0 if i < 20 else 1.2, name) for i in range(40))
        store.add(entry(i, 1.0, name, key=f"there {i}", host="node8") for i in range(3))
        store.add([entry(1, 1.0, "sleep 1")])
        return _written(folder, history_page(trends_of(store)))


def overview(folder: Path) -> Path:
    """All experiments: one that runs, forty of a history with long words, and their trends."""
    (folder / "running").parent.mkdir()
    watched = [("0123456789abcdef", True, running_tune(folder / "running"))]
    name = f"./solver <b>input</b> {LONG}"
    with Store(str(folder / "h.sqlite")) as store:
        store.add(
            replace(entry(i, 1.0 if i < 20 else 1.2, name), sentence="1.20× (1.10–1.30) faster") for i in range(40)
        )
        return _written(folder, overview_page(watched, store.latest_experiments(100), trends_of(store)))


def live(folder: Path) -> Path:
    """A tune while its comparison runs."""
    folder.mkdir()
    return _written(folder, live_page("0123456789abcdef", True, running_tune(folder / "running")))


def nodes_page(folder: Path) -> Path:
    """Five nodes, one slower and set otherwise, one with two runs."""
    folder.mkdir()
    name = f"./solver {LONG}"
    few = point_of([1.0, 1.01], "solver", name)
    assert few is not None
    entries = [entry(i, 1.0, name, host=f"node{i}") for i in range(3)]
    entries += [entry(4, 1.2, name, host="a-long-name-of-a-node-4", conditions={"kernel": "5.14"})]
    entries += [entry(5, 1.0, name, host="node5", points=(few,))]
    return _written(folder, fleet_nodes_page(fleet_of(entries, 0.01, [f"{LONG} is left out: it measured nothing yet"])))


def running_tune(folder: Path) -> Live:
    """One that has no verdict yet: settings with long names, and a comparison with two looks."""
    baseline = Setting(("./app", LONG))
    fast = Setting(("./app", LONG), {"threads": 8, "placement": "compact", **KNOBS}, {"OMP_NUM_THREADS": "8"})
    more = [Setting(("./app",), {"threads": n, "placement": "os"}, {"OMP_NUM_THREADS": str(n)}) for n in (2, 4, 16)]
    search = [(s, Runs(2.0 - 0.2 * i), range(1, 4)) for i, s in enumerate((baseline, *more, fast))]
    tuned(
        folder, search, {"baseline": Runs(2.0), fast.key: Runs(1.2)}, 12, candidate=fast.key,
        machine=machine(48, 1).to_json(), command=["./app", LONG], budget={"seconds": 120.0, "runs": None},
    )  # fmt: skip
    return read_live(folder)


def fleet_page(folder: Path) -> Path:
    """Hundreds of nodes, with faults of every rule."""
    folder.mkdir()
    nodes, rules = list(regular(500, 3)), joined(own_rules())
    plant(nodes, rules, {n["node"]: n["processor"]["name"] for n in nodes}, 3)
    fleet = new_fleet(rules.values(), Site())
    fleet.read([io.BytesIO("".join(json.dumps(n) + "\n" for n in nodes).encode())])
    return _written(folder, check_page(judge(fleet, rules, Site(), None, datetime.date(2026, 11, 23), NOW + 100)))


def flame_page(folder: Path) -> Path:
    """Four threads, names as C++ has them, and where threads wait."""
    folder.mkdir()
    dice = Random(1)
    names = ["solve", f"std::vector<double, std::allocator<{'double' * 12}> >::operator[]", "dot", "spmv", "[unknown]"]
    taken = []
    for i in range(FEWEST * 20):
        inner = dice.choices(names, (5, 3, 2, 6, 1))[0]
        chain = tuple(Frame(name, LONG, 0) for name in (inner, "step", "main"))
        taken.append(Taken(1, 1 + i % 4, i * 0.01, chain, 0.01 if i % 11 == 0 else None))
    recorded = Recorded(taken, {(1, t): Life("app", 0.0, 4.0) for t in range(1, 5)})
    work = [one for one in taken if one.waited is None]
    lines = tuple(LineShare(LONG, 40 + i, name, 40, 0.1, 0.08, 0.12) for i, name in enumerate(names))
    threads = tuple(ThreadShare(None, 1, t, "app", 90, 0.25, 4.0, 0.3, 0.1) for t in range(1, 5))
    result = ProfileResult(
        ("./app", LONG), "a processor", "2026-11-23 12:00", 4.0, 0, "cycles", 997, "frame pointers", "as it was built so", "",
        True, "perf 6.1", len(work), 0, function_shares(work), calling_count(work), lines, threads, (), (OpenMPShare(None, 4711, "libgomp", 4.0, 1.0, 0.8, 0.2, "by the names of functions", ()),), 0.0, ("a note",), (LONG,),
    )  # fmt: skip
    return _written(folder, profile_page(Profiled(result, {None: recorded})))


def _written(folder: Path, text: str) -> Path:
    page = folder / "report.html"
    page.write_text(text)
    return page


#: What makes each, into a folder of its own that is not there yet.
PAGES: dict[str, Callable[[Path], Path]] = {
    "tune": tune_page,
    "compare": compare_page,
    "run": run_page,
    "confirm": confirm_page,
    "scale": scale_page,
    "study": study_page,
    "study-points": points_page,
    "study-front": front_page,
    "roofline": roofline_page,
    "history": trends_page,
    "serve": overview,
    "live": live,
    "fleet": nodes_page,
    "check": fleet_page,
    "profile": flame_page,
}
