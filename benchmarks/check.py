# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise check` on made-up fleets of known faults: time, memory, recall and false findings.

`check` makes 10 000 nodes (`--nodes N`) with each of three generators (`check:regular`, `check:uneven`, `check:stepped` one) and `--seeds N` seeds, writes a file a node,
plants faults of every rule, and judges them in a process of its own, whose time and peak memory are the kernel's. A second pass, without
faults, counts what is found where nothing is wrong.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks._check.faults import Planted, explained, outliers_of, plant
from benchmarks._check.fleets import NOW, SITE_RULES, Node, regular, uneven
from benchmarks._check.stepped import stepped
from nodewise.nodes.node_names import fold
from nodewise.nodes.places import read_toml
from nodewise.nodes.rule import Rule, joined, own_rules, rules_of

GENERATORS = {"regular": regular, "uneven": uneven, "stepped": stepped}
_SECONDS, _BYTES, _FALSE = 10.0, 1 << 30, 1


def _write(folder: Path, nodes: list[Node], planted: Planted | None) -> None:
    folder.mkdir()
    for node in nodes:
        if planted and node["node"] in planted.missing:
            continue
        text = json.dumps(node, separators=(",", ":")) + "\n"
        (folder / f"{node['node']}.json").write_text(text)
        if planted and node["node"] in planted.twice:
            (folder / f"{node['node']}-again.json").write_text(text)


_CHILD = """
import json, sys, datetime
from pathlib import Path
from nodewise.nodes.check import judge, new_fleet
from nodewise.nodes.rule import joined, own_rules
from nodewise.nodes.site import Site, read_site
from nodewise.verdicts.encoding import encode
given = joined(own_rules())
site = read_site(Path(sys.argv[2]), given.values())
rules = joined(given.values(), site.rules)
fleet, before = new_fleet(rules.values(), site), None
fleet.read([Path(sys.argv[1])])
if len(sys.argv) > 4:
    before = new_fleet([r for r in rules.values() if r.kind == "change"], Site())
    before.read([Path(sys.argv[4])])
result = judge(fleet, rules, site, before, datetime.date.today(), float(sys.argv[3]))
print(json.dumps(encode(result)))
"""


def _judged(folder: Path, site: Path, history: Path | None = None) -> tuple[dict[str, Any], float, float, int]:
    """The answer, seconds from start to end of the process by the wall's clock and of processors, and its peak memory in bytes."""
    begin = time.monotonic()
    words = [sys.executable, "-c", _CHILD, str(folder), str(site), str(NOW + 100), *([str(history)] if history else [])]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    if child.returncode:
        raise SystemExit(f"the check ended with {child.returncode}")
    return json.loads(text), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def _score(result: dict[str, Any], planted: Planted, rules: dict[str, Rule]) -> tuple[set[str], list[str]]:
    """Nodes whose planted fault was found, and findings on nodes that nothing explains, as `rule node`."""
    found: set[str] = set()
    false: list[str] = []
    for one in result["findings"]:
        rule = rules.get(one["finding"]["name"])
        for node in one["nodes"]:
            fault = planted.faults.get(node)
            if rule is None:
                if node not in planted.missing | planted.twice | planted.ahead:
                    false.append(f"{one['finding']['name']} {node}")
            elif fault is None or not explained(rule, one["fact"], fault[1]):
                false.append(f"{rule.id} {node}: {one['finding']['summary']}")
            elif fault[0] == rule.id:
                found.add(node)
    return found, false


def _bench(name: str, count: int, seed: int, folder: Path) -> bool:
    site = folder / "site.toml"
    nodes = list(GENERATORS[name](count, seed))
    site.write_text(f'[nodes]\nexpected = "{fold(n["node"] for n in nodes)}"\n{SITE_RULES}')
    rules = joined(own_rules(), rules_of(read_toml(site)))
    # by what makes classes here: product, processor and devices are never alike in two
    class_of = {
        n[
            "node"
        ]: f"{n['processor']['name']} {n['firmware']['product']} {n['processor']['cores']} {len(n['accelerators'])}"
        for n in nodes
    }
    _write(folder / "sound", nodes, None)
    planted = plant(nodes, rules, class_of, seed)
    _write(folder / "broken", nodes, planted)
    size = sum(p.stat().st_size for p in (folder / "broken").iterdir()) / count
    result, seconds, used, peak = _judged(folder / "broken", site)
    changed, *_ = _judged(folder / "broken", site, folder / "sound")
    clean, *_ = _judged(folder / "sound", site)
    found, false = _score(result, planted, rules)
    _, false_changes = _score(changed, planted, rules)
    numeric = set(outliers_of(rules.values()))
    categorical = {n for n, (rule, _) in planted.faults.items() if rule not in numeric}
    far = {n for n, d in planted.distances.items() if d >= 8}
    missed = sorted(f"{planted.faults[n][0]} {n} ({planted.faults[n][1]})" for n in (categorical | far) - found)
    snapshots = {n for f in result["findings"] if f["kind"] == "snapshot" for n in f["nodes"]}
    missed += sorted((planted.missing | planted.twice | planted.ahead) - snapshots)
    broken_rules = {rule for rule, _ in planted.faults.values()}
    quiet = len([f for f in clean["findings"] for _ in f["nodes"]])
    print(
        f"{name}, seed {seed}: {count} nodes of {size / 1024:.1f} KiB, {len(rules)} rules, {len(result['groups'])} groups"
    )
    print(f"  time {seconds:.2f} s ({used:.2f} s of processor), peak {peak / 2**20:.0f} MiB")
    print(
        f"  categorical faults found {len(categorical & found)} of {len(categorical)}, of {len(broken_rules - numeric)} rules"
    )
    print(f"  numeric faults of 8 or more deviations found {len(far & found)} of {len(far)}")
    for least in range(2, 8):
        those = {n for n, d in planted.distances.items() if least <= d < least + 1}
        print(f"    of {least} to {least + 1}: {len(those & found)} of {len(those)}")
    print(
        f"  false findings (nodes × rules): {len(false)} beside faults, {quiet} without any fault, {len(false_changes)} with a history"
    )
    lines = [f"false where all is sound: {f['finding']['name']}: {f['finding']['summary']}" for f in clean["findings"]]
    lines += [*(f"missed: {m}" for m in missed), *(f"false: {f}" for f in [*false, *false_changes])]
    untested = sorted(r.id for r in rules.values() if r.id not in broken_rules and r.kind != "change")
    print(f"  rules without a fault here: {', '.join(untested) or 'none'}")
    print("".join(f"    {line}\n" for line in lines[:12]), end="")
    limit = _FALSE * count / 10_000
    return seconds <= _SECONDS and peak <= _BYTES and not missed and max(len(false), quiet) <= limit


def main(*words: str) -> None:
    """All generators, or those named."""
    options = dict(pairwise(words))
    count, seeds = int(options.get("--nodes", "10000")), int(options.get("--seeds", "1"))
    names = [w for w in words if w in GENERATORS] or list(GENERATORS)
    good = True
    for name in names:
        for seed in range(seeds):
            with tempfile.TemporaryDirectory() as folder:
                good &= _bench(name, count, seed, Path(folder))
    print(f"all held: {good} (this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB)")
