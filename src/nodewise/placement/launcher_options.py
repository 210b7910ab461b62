# SPDX-License-Identifier: BSD-3-Clause
"""Options of a launcher's command line, split from a text."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from nodewise.base.errors import InputError
from nodewise.placement.job import Job


def read_options(
    launcher: str, text: str, known: Mapping[str, str], bare: tuple[str, ...] = (), alias: str | None = None
) -> dict[str, str]:
    """The options of a text by the name that `known` gives each spelling; `bare` names take no value.

    Words `--name=value`, `--name value`, `-xvalue` and the launcher's own name, or its alias, are taken. Raises InputError for an
    option that is not known (such as a program's name), given twice, or without its value.
    """
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise InputError(f"{launcher}: {text!r} cannot be split into words: {problem}") from problem
    found: dict[str, str] = {}
    while words:
        word = words.pop(0)
        spelt, equals, value = word.partition("=")
        if spelt not in known and len(word) > 2 and word[:2] in known and word[1] != "-":
            spelt, equals, value = word[:2], "=", word[2:]
        name = known.get(spelt)
        if name is None:
            if word in (launcher, alias):
                continue
            options = ", ".join(dict.fromkeys(s for s in known if s.startswith("-")))
            raise InputError(f"{launcher}: {word!r} is no option on placement", f"known are: {options}")
        if name in found:
            raise InputError(f"{launcher}: {spelt} is given twice", "give it once")
        if name not in bare and not equals:
            if not words:
                raise InputError(f"{launcher}: {spelt} needs a value")
            value = words.pop(0)
        found[name] = value
    return found


def whole(launcher: str, option: str, text: str, least: int = 1) -> int:
    """A number of at most seven digits; raises InputError where it is not one, or too small."""
    if not text.isdecimal() or len(text) > 7 or int(text) < least:
        raise InputError(f"{launcher}: {option} {text!r} is no number from {least} on")
    return int(text)


def job_from(launcher: str, options: Mapping[str, str], job: Job) -> Job:
    """The job with the numbers of its launcher's options: ranks, ranks a node, and threads (`ranks`, `per_node`, `threads`).

    Raises InputError where they contradict what is known of the job, or give no number of ranks.
    """
    threads = whole(launcher, "threads", options["threads"]) if "threads" in options else job.threads
    ranks = whole(launcher, "ranks", options["ranks"]) if "ranks" in options else job.ranks
    if job.ranks and ranks != job.ranks:
        raise InputError(f"{launcher}: {ranks} ranks in its options, and {job.ranks} by --ranks", "give it once")
    per_node = whole(launcher, "ranks a node", options["per_node"]) if "per_node" in options else None
    nodes = job.nodes
    if per_node is not None:
        ranks = ranks or per_node * nodes
        needed = -(-ranks // per_node)
        if nodes not in (1, needed):
            raise InputError(f"{launcher}: {ranks} ranks, {per_node} a node, need {needed} nodes, not {nodes}")
        nodes = needed
    if not ranks:
        raise InputError(f"{launcher} places ranks, and no number of ranks is given", "give --ranks")
    return Job(threads, ranks, nodes)
