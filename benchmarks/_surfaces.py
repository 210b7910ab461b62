# SPDX-License-Identifier: BSD-3-Clause
"""Machines and programs that exist only as formulas, so that the best setting of a whole space is known.

Every thread gets an equal share of the work (static schedules) or chunks of it (dynamic, guided: shares follow speed, at
a cost a chunk). A core with k busy hardware threads runs at smt[k] times one thread, shared by them. Neighbouring threads
on one core share data (locality). A NUMA node gives at most its bandwidth to its threads. Cores slow down (turbo) as
more of them are busy.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nodewise.machine.model import Core, Limits, Machine, Node, NumaNode, Processor
from nodewise.runner.setting import Setting

FOLDER = Path(__file__).parent / "surfaces"
MEMORIES = ("local", "interleave", "node0", "node1")


@dataclass
class Surface:
    """A surface by name; `text` is what its file holds. `axes` are those on which it depends."""

    name: str
    text: Mapping[str, Any]
    axes: tuple[str, ...] = ("threads", "placement")
    _known: dict[tuple[Any, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cores = self.text["machine"]["cores"]
        self._core_of = np.full(1 + max(p for core in cores for p in core), -1)
        for i, core in enumerate(cores):
            self._core_of[core] = i
        self._node_of = np.array(
            [
                next((k for k, node in enumerate(self.text["machine"]["nodes"]) if i in node["cores"]), 0)
                for i in range(len(cores))
            ]
        )
        widest = max(map(len, cores))
        self._spread = [core[t] for t in range(widest) for core in cores if t < len(core)]

    def machine(self, numbering: str = "own", live: bool = False) -> Machine:
        """The machine; `numbering` "plain" counts hardware threads core by core, whatever the surface's file says.

        The surface stays as it is, so a plain numbering of a machine that numbers otherwise is a machine told wrongly. A
        `live` one passes for the machine that nodewise runs on.
        """
        cores = [list(c) for c in self.text["machine"]["cores"]]
        if numbering == "plain":
            count = iter(range(len(self._spread)))
            cores = [[next(count) for _ in core] for core in cores]
        source = "live" if live else f"synthetic:{self.text['machine']['synthetic']}"
        return _machine(cores, self.text["machine"]["nodes"], source)

    def seconds(self, setting: Setting) -> float:
        """The noiseless time of a run under a setting."""
        threads = int(setting.env.get("OMP_NUM_THREADS", len(self._spread)))
        schedule = setting.env.get("OMP_SCHEDULE", "static")
        memory = setting.env.get("PRETEND_MEMORY", "local")
        key = (threads, setting.places, schedule, memory)
        if key not in self._known:
            places = None if setting.places is None else [p[0] for p in setting.places]
            self._known[key] = self._formula(threads, places, schedule, memory)
        return self._known[key]

    def _formula(self, n: int, places: Sequence[int] | None, schedule: str, memory: str) -> float:
        s = self.text
        chosen = np.array(
            [(self._spread if places is None else places)[i % len(places or self._spread)] for i in range(n)]
        )
        core = self._core_of[chosen]
        times = np.bincount(chosen)
        on_processor = times[chosen]
        busy = np.bincount(self._core_of[np.flatnonzero(times)], minlength=len(self._node_of))
        used = int((busy > 0).sum())
        turbo = 1 - s.get("turbo_loss", 0) * (used - 1) / max(1, len(busy) - 1)
        smt = np.array(s["smt"], dtype=float)
        near = np.zeros(n)
        near[1:] += core[1:] == core[:-1]
        near[:-1] += core[1:] == core[:-1]
        speed = turbo * smt[np.minimum(busy[core], len(smt)) - 1] / busy[core] / on_processor
        speed = speed * (1 + s.get("locality", 0) * near / 2)
        if places is None:
            speed = speed * (1 - s.get("floating_loss", 0))
        if s.get("bytes_share", 0):
            speed = self._starve(speed, core, memory)
        kind, _, chunk = schedule.partition(",")
        if kind == "static":
            shares = 1 + s.get("imbalance", 0) * (np.arange(n) / max(1, n - 1) - 0.5)
            t = float((shares / shares.sum() / speed).max())
        else:
            k = int(chunk or 1)
            cost = s.get("chunk_cost", 0) * (1.0 if kind == "dynamic" else 0.1) / k
            t = float(1 / speed.sum() * (1 + cost) + s.get("tail", 0) * k / s.get("iterations", 1e6))
        return float(s["seconds"] * ((1 - s["serial"]) * t + s["serial"]) + s.get("thread_cost", 0) * n)

    def _starve(self, speed: Any, core: Any, memory: str) -> Any:
        """Speeds where NUMA nodes give no more than their bandwidth."""
        s = self.text
        bandwidth = np.array([node["bandwidth"] for node in s["machine"]["nodes"]], dtype=float)
        own = self._node_of[core]
        if memory == "interleave":
            demand = np.full(len(bandwidth), speed.sum() / len(bandwidth))
            cap = np.full(len(speed), np.minimum(1.0, bandwidth / demand).min())
            far = np.full(len(speed), 1 - s.get("remote_loss", 0) * 0.5)
            if len(bandwidth) == 1:
                far = np.ones(len(speed))
        elif memory.startswith("node"):
            k = int(memory[4:])
            cap = np.full(len(speed), min(1.0, bandwidth[k] / speed.sum()))
            far = 1 - s.get("remote_loss", 0) * (own != k)
        else:
            demand = np.bincount(own, weights=speed, minlength=len(bandwidth))
            cap = np.minimum(1.0, bandwidth / np.maximum(demand, 1e-300))[own]
            far = np.ones(len(speed))
        share = s["bytes_share"]
        return speed / ((1 - share) + share / (cap * far))


def _machine(cores: Sequence[Sequence[int]], nodes: Sequence[Mapping[str, Any]], source: str) -> Machine:
    package_of = {c: k for k, node in enumerate(n for n in nodes if n["cores"]) for c in node["cores"]}
    made = tuple(Core(i, i, tuple(core), package_of.get(i, 0), package_of.get(i, 0)) for i, core in enumerate(cores))
    packages = []
    for socket in dict.fromkeys(c.socket for c in made):
        inside = [c for c in made if c.socket == socket]
        pus = tuple(p for c in inside for p in c.pus)
        children = tuple(
            Node("core", c.logical, c.os_index, c.pus, tuple(Node("pu", p, p, (p,)) for p in c.pus)) for c in inside
        )
        packages.append(Node("package", socket, socket, pus, children))
    everyone = tuple(p for node in packages for p in node.pus)
    return Machine(
        source=source,
        tree=Node("machine", 0, 0, everyone, tuple(packages)),
        cores=made,
        caches=(),
        numa_nodes=tuple(NumaNode(p.logical, 1 << 30, p.pus) for p in packages),
        distances=(),
        kinds=(),
        processor=Processor("imaginary"),
        limits=Limits(everyone),
    )


def read_surfaces() -> list[Surface]:
    """Those in the folder, by name."""
    extra = {"imbalanced": ("schedule",), "knl-hbm": ("PRETEND_MEMORY",)}
    return [
        Surface(path.stem, json.loads(path.read_text()), ("threads", "placement", *extra.get(path.stem, ())))
        for path in sorted(FOLDER.glob("*.json"))
    ]


def random_surface(seed: int) -> Surface:
    """A surface of the same form as those in the folder, with everything drawn at random: none was ever looked at."""
    r = random.Random(f"surface {seed}")
    sockets, smt = r.choice((1, 1, 2, 2, 4)), r.choice((1, 2, 2, 4))
    each = r.randint(4, 64 // sockets)
    count = sockets * each
    plain = r.random() < 0.5
    cores = [[c * smt + t if plain else c + t * count for t in range(smt)] for c in range(count)]
    gains = [r.uniform(-0.05, 0.9) * 0.7**k for k in range(smt - 1)]
    text: dict[str, Any] = {
        "seconds": r.uniform(20, 300),
        "serial": 10 ** r.uniform(-4, -2),
        "smt": [1.0, *(1 + sum(gains[: k + 1]) for k in range(smt - 1))],
        "locality": r.choice((0.0, r.uniform(0, 0.25))),
        "turbo_loss": r.choice((0.0, r.uniform(0, 0.3))),
        "floating_loss": r.uniform(0, 0.12),
        "thread_cost": 10 ** r.uniform(-5, -2.5),
        "noise": {
            "sigma": r.uniform(0.005, 0.02),
            "outliers": r.uniform(0, 0.08),
            "outlier_size": r.uniform(0.1, 0.5),
            "drift": r.uniform(0, 0.02),
            "period": r.randint(30, 100),
        },
    }
    nodes: list[dict[str, Any]] = [
        {"cores": list(range(k * each, (k + 1) * each)), "bandwidth": 1e9} for k in range(sockets)
    ]
    axes: tuple[str, ...] = ("threads", "placement")
    if r.random() < 0.5:
        text |= {"bytes_share": r.uniform(0.3, 0.9), "remote_loss": r.uniform(0, 0.4)}
        width = each * r.uniform(0.2, 1.2)
        for node in nodes:
            node["bandwidth"] = width
        if r.random() < 0.4:
            nodes.append({"cores": [], "bandwidth": count * r.uniform(0.5, 2)})
            axes = (*axes, "PRETEND_MEMORY")
    elif r.random() < 0.5:
        text |= {
            "imbalance": r.uniform(0.2, 1.5),
            "chunk_cost": r.uniform(0.1, 1.0),
            "tail": r.uniform(10, 400),
            "iterations": 100000,
        }
        axes = (*axes, "schedule")
    text["machine"] = {"synthetic": f"pack:{sockets} core:{each} pu:{smt}", "cores": cores, "nodes": nodes}
    return Surface(f"random {seed}", text, axes)


def sockets(count: int, each: int, smt: int, bandwidth: float = 1e9) -> dict[str, Any]:
    """A machine as a surface's file has it: sockets of `each` cores, each with a NUMA node of that bandwidth."""
    cores = count * each
    return {
        "synthetic": f"pack:{count} core:{each} pu:{smt}",
        "cores": [[c + t * cores for t in range(smt)] for c in range(cores)],
        "nodes": [{"cores": list(range(k * each, (k + 1) * each)), "bandwidth": bandwidth} for k in range(count)],
    }


def gain_surface() -> Surface:
    """2 × 8 cores × 2 where binding threads gains 3 % and hardware threads nothing, at a noise of 1.5 %."""
    text = {
        "seconds": 40.0,
        "serial": 0.0,
        "smt": [1.0, 1.0],
        "floating_loss": 1 - 1 / 1.03,
        "noise": {"sigma": 0.015, "outliers": 0.04, "outlier_size": 0.25, "drift": 0.01, "period": 61},
        "machine": sockets(2, 8, 2),
    }
    return Surface("gain", text)
