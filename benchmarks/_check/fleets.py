# SPDX-License-Identifier: BSD-3-Clause
"""Two generators of sound fleets, which share the form of a snapshot and nothing of the shapes of their numbers.

`regular`: three large classes, lognormal temperatures, speeds that spread by 2 %. `uneven`: eleven classes of 12 to 5 000 nodes, readings in whole
degrees with logistic spread and warmer racks, skewed speeds, busy and idle nodes, adapters whose names differ by class, memory
whose size differs by some pages.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

Node = dict[str, Any]
NOW = 1_790_000_000.0
GB = 10**9


def node_of(
    processor: str, cores: int, sockets: int, memory: int, product: str, gpus: int, ports: dict[str, str]
) -> Node:
    """A sound node of a class."""
    threads, nodes = cores, sockets * 2
    each = threads // nodes
    everyone = f"0-{threads - 1}"
    numa = {
        str(n): {
            "processors": f"{n * each}-{n * each + each - 1}",
            "bytes": memory // nodes,
            "distances": [10 if m == n else 21 for m in range(nodes)],
        }
        for n in range(nodes)
    }
    mount = {"answers": True, "free": 0.5, "free_inodes": 0.9}
    port = {
        "adapter": "MT_0000000223",
        "firmware": "20.35.1012",
        "layer": "InfiniBand",
        "state": "ACTIVE",
        "physical": "LinkUp",
        "numa_node": 0,
    }
    counters = {"symbol_error": 0, "link_error_recovery": 0, "link_downed": 1, "port_rcv_errors": 2}
    mitigations = ("l1tf", "mds", "meltdown", "retbleed", "spectre_v1", "spectre_v2", "srbds", "tsx_async_abort")
    return {
        "nodewise_snapshot": 1,
        "node": "",
        "taken": NOW,
        "made_by": "nodewise 0.1.0",
        "system": {
            "name": "rocky",
            "version": "9.3",
            "kernel": "5.14.0-362.el9",
            "build": "#1 SMP PREEMPT_DYNAMIC",
            "architecture": "x86_64",
            "hypervisor": None,
            "container": None,
            "cgroup_version": 2,
            "tainted": 0,
            "uptime_s": 4e5,
            "load": 0.1,
            "processes": 800,
        },
        "firmware": {
            "vendor": "A Maker",
            "product": product,
            "board": "B1",
            "bios_version": "1.4.3",
            "bios_date": "03/14/2025",
            "embedded": "3.2",
        },
        "processor": {
            "vendor": "GenuineIntel",
            "name": processor,
            "family": 6,
            "model": 106,
            "stepping": 6,
            "microcode": {"0xd000375": everyone},
            "sockets": sockets,
            "cores": cores,
            "online": everyone,
            "offline": "",
            "smt": "off",
            "threads_per_core": 1,
            "caches": {"L1d": 49152, "L1i": 32768, "L2": 1310720, "L3": 50331648},
            "features": [
                "aes",
                "avx",
                "avx2",
                "avx512bw",
                "avx512cd",
                "avx512dq",
                "avx512f",
                "avx512vl",
                "fma",
                "sse4_2",
            ],
        },
        "clocks": {
            "governors": {"performance": everyone},
            "drivers": {"intel_pstate": everyone},
            "preferences": {"performance": everyone},
            "held_to_hz": 3.2e9,
            "could_hz": 3.2e9,
            "least_hz": 8e8,
            "boost": True,
            "most_percent": 100,
            "idle_driver": "intel_idle",
            "idle_latency_us": 170,
            "throttled": 0,
        },
        "time": {"source": "tsc", "sources": ["tsc", "hpet"], "synchronised": True, "offset_s": 1e-5, "error_s": 1e-3},
        "memory": {
            "total": memory,
            "available": memory * 9 // 10,
            "swap": 0,
            "swap_used": 0,
            "numa": numa,
            "mode": None,
            "cluster_mode": None,
            "huge_pages": "always",
            "huge_page_defrag": "madvise",
            "reserved_pages": {"2048kB": 0, "1048576kB": 0},
            "same_page_merging": 0,
            "numa_balancing": 0,
            "swappiness": 10,
            "overcommit": 0,
            "zone_reclaim": 0,
        },
        "kernel": {
            "options": {
                "root": None,
                "quiet": "",
                "isolcpus": "2-7",
                "nohz_full": "2-7",
                "rcu_nocbs": "2-7",
                "mitigations": "auto",
            },
            "isolated": "2-7",
            "tickless": "2-7",
            "no_callbacks": "2-7",
            "mitigations": dict.fromkeys(mitigations, "Mitigation: on"),
            "aslr": 2,
            "perf_paranoid": 1,
            "nmi_watchdog": 0,
            "autogroups": 0,
            "modules": {"mlx5_core": "5.8-3", "lustre": "2.15.3", "nfs": None, "xpmem": "2.7"},
        },
        "limits": {
            "processors": everyone,
            "cpu_quota": None,
            "memory": None,
            "ulimits": {
                "locked memory": [None, None],
                "open files": [51200, 51200],
                "stack size": [None, None],
                "core file size": [0, None],
            },
        },
        "mounts": {
            "/": {"type": "xfs", "options": ["noatime", "rw"], "bytes": 200 * GB, **mount},
            "/scratch": {"type": "lustre", "options": ["flock", "rw"], "bytes": 10**15, **mount},
            "/home": {"type": "nfs4", "options": ["hard", "rw", "vers=4.2"], "bytes": 10**14, **mount},
            "/dev/shm": {"type": "tmpfs", "options": ["rw"], "bytes": memory // 2, **mount},
        },
        "software": {f"package-{i}": f"{i}.2.{i * 7 % 5}-1.el9" for i in range(40)},
        "services": {"sshd": True, "munged": True, "slurmd": True, "chronyd": True},
        "fabric": {name: {**port, "rate": rate, "errors": dict(counters)} for name, rate in ports.items()},
        "network": {
            "eno1": {"driver": "igb", "state": "up", "speed": 1000, "duplex": "full", "mtu": 1500, "errors": 0}
        },
        "accelerators": {
            f"0000:{16 + 32 * g:x}:00.0": {
                "device": "10de:20b5",
                "driver": "nvidia",
                "numa_node": g % nodes,
                "link": "x16 16.0 GT/s PCIe",
                "link_could": "x16 16.0 GT/s PCIe",
            }
            for g in range(gpus)
        },
        "sensors": {"processor": 55.0, "temperatures": {}, "watts": {}, "fans": {}},
        "errors": {
            "dimms": 16,
            "corrected": 0,
            "uncorrected": 0,
            "machine_checks": 0,
            "pci_corrected": 0,
            "pci_fatal": 0,
        },
        "quiet": {"address layout": "note", "boost": "note"},
        "speed": {},
        "own": {"dgemm": 3000.0, "stream": 400.0, "latency": 1.2e-6},
        "absent": {
            "system.hypervisor": "nothing shows one",
            "system.container": "nothing shows one",
            "memory.mode": "only Xeon Phi has such modes",
            "memory.cluster_mode": "only Xeon Phi has such modes",
            "limits.cpu_quota": "no control group sets one",
            "limits.memory": "no control group sets one",
            "kernel.options.*": "its value may say whose machine this is",
            "kernel.modules.*": "the module has no version of its own",
            "limits.ulimits.*": "no limit",
        },
    }


def regular(count: int, seed: int) -> Iterator[Node]:
    """Three classes, lognormal temperatures (4 %), normal speeds (2 %)."""
    rng = random.Random(seed)
    classes = [
        node_of("A Processor 8360", 72, 2, 256 * GB, "Server 1", 0, {"mlx5_0/1": "200 Gb/sec (4X HDR)"}),
        node_of("A Processor 8480", 112, 2, 512 * GB, "Server 2", 0, {"mlx5_0/1": "400 Gb/sec (4X NDR)"}),
        node_of(
            "A Processor 6338",
            64,
            2,
            1024 * GB,
            "Server 3",
            4,
            {"mlx5_0/1": "200 Gb/sec (4X HDR)", "mlx5_1/1": "200 Gb/sec (4X HDR)"},
        ),
    ]
    for i in range(count):
        kind = 0 if i < 0.6 * count else 1 if i < 0.9 * count else 2
        made = copy.deepcopy(classes[kind])
        made["node"] = f"n{i + 1:05d}"
        made["taken"] = NOW + rng.uniform(0, 60)
        heat = [52, 58, 61][kind] * rng.lognormvariate(0, 0.04)
        _vary(made, rng, heat, lambda: rng.lognormvariate(0, 0.04), lambda: rng.gauss(1, 0.02))
        yield made


def _tested(rate: float, unit: str) -> Node:
    """A test of speed, of 1 % noise."""
    spread = {"low": 0.99 * rate, "high": 1.01 * rate}
    return {"rate": rate, **spread, "unit": unit, "threads": 72, "runs": 12, "disturbed": 0, "unreached": None}


def _vary(made: Node, rng: random.Random, heat: float, warm: Callable[[], float], speed: Callable[[], float]) -> None:
    made["sensors"] = {
        "processor": round(heat, 3),
        "temperatures": {"coretemp 0": round(heat, 3), "nvme 0": round(38 * warm(), 3)},
        "watts": {"coretemp 0": round(210 * warm(), 2)},
        "fans": {"nct6775 0": int(5400 * warm())},
    }
    made["own"] = {"dgemm": 3000 * speed(), "stream": 400 * speed(), "latency": 1.2e-6 * speed()}
    made["speed"] = {
        name: _tested(usual * speed(), unit)
        for name, usual, unit in (("dgemm", 3000, "GFLOP/s"), ("bandwidth", 400, "GB/s"), ("latency", 9, "Mloads/s"))
    }
    made["system"]["uptime_s"] = rng.uniform(1e4, 1e7)
    made["system"]["load"] = rng.lognormvariate(-1, 1)
    made["system"]["processes"] = int(rng.gauss(800, 40))
    made["memory"]["total"] += rng.randrange(-2000, 2000) * 4096
    made["memory"]["available"] = int(made["memory"]["total"] * rng.uniform(0.85, 0.95))
    made["time"]["offset_s"] = rng.gauss(0, 2e-4)
    made["mounts"]["/"]["free"] = rng.uniform(0.2, 0.9)


def drawn(
    base: Node, name: str, rng: random.Random, heat: float, warm: Callable[[], float], speed: Callable[[], float]
) -> Node:
    """A node of that name with what differs from node to node drawn anew."""
    made = copy.deepcopy(base)
    made["node"] = name
    _vary(made, rng, heat, warm, speed)
    return made


def uneven(count: int, seed: int) -> Iterator[Node]:
    """Eleven classes, logistic temperatures in whole degrees by rack, skewed speeds, busy and idle nodes."""
    rng = random.Random(seed ^ 0x5EED)
    shares = [0.5, 0.2, 0.1, 0.06, 0.05, 0.03, 0.02, 0.02, 0.01, 0.0088, 0.0012]
    classes = []
    for c in range(len(shares)):
        ports = (
            {f"mlx5_{p}/1": "100 Gb/sec (4X EDR)" for p in range(1 + c % 2)}
            if c % 3
            else {f"hfi1_{p}/1": "100 Gb/sec (4X EDR)" for p in range(1)}
        )
        classes.append(
            node_of(
                f"Processor {c // 2}",
                32 + 16 * c,
                1 + c % 2,
                (96 << c % 4) * GB,
                f"Box {c // 3}",
                2 if c in (2, 7) else 0,
                ports,
            )
        )
        classes[c]["software"] = {f"tool-{i}": f"{i}.{c % 2}" for i in range(25 + c)}
        classes[c]["network"] = {
            f"enp{c}s0": dict(classes[c]["network"]["eno1"]),
            "enp0s99": {**classes[c]["network"]["eno1"], "speed": None, "state": "down"},
        }
    kinds = [c for c, share in enumerate(shares) for _ in range(round(share * count))]
    kinds += [0] * (count - len(kinds))
    for i in range(count):
        kind, rack = kinds[i], i // 48
        made = copy.deepcopy(classes[kind])
        made["node"] = f"rack{rack:03d}node{i % 48:02d}"
        busy = rng.random() < 0.7
        draw = rng.random()
        warm = 45 + kind + 6 * busy + (rack * 7 % 5) * 0.5 + 1.2 * math.log(draw / (1 - draw))

        def skewed() -> float:
            return 1.01 - rng.gammavariate(3, 0.004)

        _vary(made, rng, float(round(warm)), lambda: rng.triangular(0.8, 1.25, 1), skewed)
        made["sensors"]["temperatures"] = {
            "coretemp 0": float(round(warm)),
            "coretemp 1": float(round(warm - rng.expovariate(1))),
        }
        made["system"]["load"] = made["processor"]["cores"] * 1.0 if busy else 0.0
        yield made


#: The rules of a made-up site for the speeds that its nodes report.
SITE_RULES = "".join(
    f"""
[[rule]]
id = "own-{name}"
kind = "outlier"
reads = "own.{name}"
severity = "wrong"
side = "{side}"
scale = "log"
step = 0.001
reason = "A job waits for its slowest node."
remedy = "Look at its clocks, heat and memory."
"""
    for name, side in (("dgemm", "low"), ("stream", "low"), ("latency", "high"))
)
