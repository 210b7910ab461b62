# SPDX-License-Identifier: BSD-3-Clause
"""Options of a launcher's command line, split from a text."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from nodewise.base.errors import InputError
from nodewise.placement.job import Job


@dataclass(frozen=True)
class Beside:
    """A launcher's other options. `words` says how many words follow each of those that say nothing of placement.

    Those in `unmodelled` do bear on it. `settings` are options of two words whose first names a parameter, which bears on it where
    it has one of the parts `places`.
    """

    words: Mapping[str, int] = field(default_factory=dict)
    unmodelled: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


def words_of(*by_number: str) -> dict[str, int]:
    """How many words follow each option: `by_number` names those of none, of one, of two, parted by blanks."""
    return {option: number for number, options in enumerate(by_number) for option in options.split()}


def options_and_notes(
    launcher: str,
    text: str,
    known: Mapping[str, str],
    bare: tuple[str, ...] = (),
    alias: str | None = None,
    beside: Beside | None = None,
) -> tuple[dict[str, str], list[str]]:
    """The options of a text by the name that `known` gives each spelling, and notes; `bare` names take no value.

    Words `--name=value`, `--name value`, `-xvalue` and the launcher's own name, or its alias, are taken; those `beside`, which say
    nothing of placement, are passed over, and a note names them. Raises InputError for an option that is not known, given
    twice, without its value, or that bears on placement and is not modelled, and for a program's name.
    """
    beside = beside or Beside()
    passed: list[str] = []
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise InputError(f"{launcher}: {text!r} cannot be split into words: {problem}") from problem
    found: dict[str, str] = {}
    while words:
        word = words.pop(0)
        spelt, equals, value = _parted(word, known, beside)
        if spelt in beside.unmodelled and spelt not in known:
            raise InputError(
                f"{launcher}: {spelt} bears on placement, and what it does is not modelled",
                "leave it out to see the placement of the other options",
            )
        if spelt in beside.words:
            passed.append(spelt)
            _pass_over(launcher, spelt, beside, words, bool(equals))
            continue
        name = known.get(spelt)
        if name is None:
            if word in (launcher, alias):
                continue
            # each once, as it is spelled first
            first = dict(reversed([(name, s) for s, name in known.items() if s.startswith("-")]))
            options = ", ".join(reversed(first.values()))
            if not word.startswith("-"):
                raise InputError(
                    f"{launcher}: {word!r} is no option",
                    f"leave out the program and what follows it; known are: {options}",
                )
            raise InputError(f"{launcher}: {word!r} is not known here", f"on placement known are: {options}")
        if name in found:
            raise InputError(f"{launcher}: {spelt} is given twice", "give it once")
        if name not in bare and not equals:
            if not words:
                raise InputError(f"{launcher}: {spelt} needs a value")
            value = words.pop(0)
        found[name] = value
    named = ", ".join(dict.fromkeys(passed))
    return found, [f"{launcher}: passed over, as it says nothing of placement: {named}"] if named else []


def read_options(
    launcher: str, text: str, known: Mapping[str, str], bare: tuple[str, ...] = (), alias: str | None = None
) -> dict[str, str]:
    """The options of a text as `options_and_notes` reads them, for a launcher of which no others are known. Raises InputError as it does."""
    return options_and_notes(launcher, text, known, bare, alias)[0]


def _parted(word: str, known: Mapping[str, str], beside: Beside) -> tuple[str, str, str]:
    """An option, whether its value is in the same word, and that value."""
    spelt, equals, value = word.partition("=")
    if spelt in known or spelt in beside.words or spelt in beside.unmodelled or len(word) < 3 or word[1] == "-":
        return spelt, equals, value
    attached = word[:2] in known or beside.words.get(word[:2]) == 1
    return (word[:2], "=", word[2:]) if attached else (spelt, equals, value)


def _pass_over(launcher: str, option: str, beside: Beside, words: list[str], has_value: bool) -> None:
    """Take the words that follow an option. Raises InputError where they are missing, or set what bears on placement."""
    count = beside.words[option]
    if count and not has_value:
        if len(words) < count:
            raise InputError(f"{launcher}: {option} needs {'a value' if count == 1 else f'{count} values'}")
        taken = words[:count]
        del words[:count]
        if option in beside.settings and any(part in taken[0] for part in beside.places):
            raise InputError(
                f"{launcher}: {option} {' '.join(taken)} bears on placement, and what it does is not modelled",
                "say it by options such as --map-by and --bind-to",
            )


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
