# SPDX-License-Identifier: BSD-3-Clause
"""What the options of a launcher say of nodes: how many there are, how many ranks each gets, and whether they are other machines."""

from __future__ import annotations

import math
import re
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.placement.hosts import in_slurms_words
from nodewise.placement.job import Job

_LISTS = ("--host", "-host", "-H", "-hosts", "--hosts")
_FILES = ("--hostfile", "-hostfile", "--machinefile", "-machinefile", "--default-hostfile", "-f")
#: By launcher, what says how many ranks there are on each node; `-N` is that of all but Slurm's.
_EACH = ("--ntasks-per-node", "--tasks-per-node", "-ppn", "--ppn", "-perhost", "--perhost", "-npernode", "--npernode")
_MOST_BYTES = 1 << 20
_PPR = re.compile(r"\bppr:(\d{1,9}):node\b")


def _options(head: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options of a launcher with what follows them, in their order: `--x=v`, `--x v` and `-N4`."""
    for i, word in enumerate(head[1:], 1):
        name, sign, value = word.partition("=")
        if joined := re.fullmatch(r"(-[Nw])(\S+)", word):
            yield joined[1], joined[2]
        elif sign:
            yield name, value
        elif word.startswith("-"):
            yield word, head[i + 1] if i + 1 < len(head) else ""


def _is_slurm(head: Sequence[str]) -> bool:
    return Path(head[0]).name == "srun"


def read_per_node(head: Sequence[str]) -> int:
    """How many ranks on each node the options of a launcher ask for, the last one where several do; 0 where they say nothing of it."""
    found = 0
    for name, value in _options(head):
        if name in ("-pernode", "--pernode"):
            found = 1
        elif name in _EACH or (name in ("-N", "--N") and not _is_slurm(head)):
            found = int(value) if re.fullmatch(r"\d{1,9}", value) else found
        elif name in ("--map-by", "-map-by") and (said := _PPR.search(value)):
            found = int(said[1])
    return found


def ranks_on_node(head: Sequence[str], ranks: int, environment: Mapping[str, str], cwd: Path | None = None) -> int:
    """How many of so many ranks the fullest node gets, by the launcher's options, its hosts or the batch system's job."""
    each = read_per_node(head)
    job = environment.get("SLURM_JOB_NUM_NODES", environment.get("SLURM_NNODES", ""))
    of_job = int(job) if re.fullmatch(r"[1-9]\d{0,8}", job) else 0
    if _is_slurm(head):
        # srun takes all nodes of its job where --nodes does not say how many, whatever --ntasks-per-node and --nodelist say
        nodes = _nodes_said(head) or of_job or nodes_of_srun(head)
        return math.ceil(ranks / nodes) if nodes else min(ranks, each or ranks)
    if each:
        return min(ranks, each)
    slots = _hosts(head, cwd) or {}
    if slots and sum(slots.values()) >= ranks:
        # filled one after the other
        return min(ranks, max(slots.values()))
    return math.ceil(ranks / (len(slots) or of_job or 1))


def processors_of_job(environment: Mapping[str, str]) -> int | None:
    """How many processors a job of Slurm has on each of its nodes, at least; None outside of one."""
    numbers = re.findall(r"(?:^|,)(\d{1,9})(?=$|,|\()", environment.get("SLURM_JOB_CPUS_PER_NODE", ""))
    return min(map(int, numbers)) or None if numbers else None


def refitted(words: Sequence[str], ranks: int, each: int) -> list[str]:
    """A launcher's words for `each` of its ranks on a node: what they say of that, and srun's number of nodes, is written anew."""
    slurm = _is_slurm(words)
    nodes = str(math.ceil(ranks / each))
    counted = ("-N", "--nodes") if slurm else ("-N", "--N")
    number = {name: nodes if slurm else str(each) for name in counted} | dict.fromkeys(_EACH, str(each))
    found: list[str] = []
    following = ""
    for word in words:
        name, sign, said = word.partition("=")
        if following:
            found.append(following)
            following = ""
        elif word in ("-pernode", "--pernode"):
            found += ["-npernode", str(each)]
        elif name in number:
            found.append(f"{name}={number[name]}" if sign else name)
            following = "" if sign else number[name]
        elif re.fullmatch(r"-N\d+", word):
            found.append(f"-N{number['-N']}")
        elif name in ("--map-by", "-map-by") and sign:
            found.append(f"{name}={_PPR.sub(f'ppr:{each}:node', said)}")
        elif found and found[-1] in ("--map-by", "-map-by"):
            found.append(_PPR.sub(f"ppr:{each}:node", word))
        else:
            found.append(word)
    return found if not slurm or _nodes_said(words) else [*found, f"--nodes={nodes}"]


def _nodes_said(head: Sequence[str]) -> int:
    """How many nodes srun is told to take, at least, by their number; 0 where it is not."""
    words = dict(_options(head))
    said = re.match(r"[1-9]\d{0,8}", words.get("-N", words.get("--nodes", "")))
    return int(said[0]) if said else 0


def nodes_of_srun(head: Sequence[str]) -> int:
    """How many nodes srun is told to take, at least; 0 where it is not, and of another launcher."""
    if not _is_slurm(head):
        return 0
    if said := _nodes_said(head):
        return said
    words = dict(_options(head))
    names = words.get("-w", words.get("--nodelist", ""))
    with suppress(InputError):
        return in_slurms_words("srun", "--nodelist", names, Job(1)) or 0
    return 0


def names_others(head: Sequence[str], cwd: Path | None = None) -> bool:
    """Whether a launcher's options name a host that is not certainly this one."""
    own = socket.gethostname()
    names = [value for name, value in _options(head) if _is_slurm(head) and name in ("-w", "--nodelist")]
    if any("[" in name for name in names):
        return True
    slots = _hosts(head, cwd)
    return slots is None or not {*slots, *",".join(names).split(",")} - {""} <= {
        "localhost",
        "127.0.0.1",
        own,
        own.partition(".")[0],
    }


def _hosts(head: Sequence[str], cwd: Path | None) -> dict[str, int] | None:
    """The slots of each host that mpirun is given, 1 where no number is; empty where none is, None where a file cannot be read."""
    found: Counter[str] = Counter()
    for name, value in _options(head):
        if name in _LISTS and not _is_slurm(head):
            lines = value.split(",")
        elif name in _FILES and not _is_slurm(head):
            try:
                with Path(cwd or ".", value).open(errors="replace") as file:
                    lines = file.read(_MOST_BYTES).splitlines()
            except OSError:
                return None
        else:
            continue
        for line in lines:
            if words := line.partition("#")[0].split():
                host, _, number = words[0].partition(":")
                slots = next((w.partition("=")[2] for w in words[1:] if re.match("(slots|cpu|count)=", w)), number)
                found[host] += int(slots) if re.fullmatch(r"\d{1,9}", slots) else 1
    return dict(found)
