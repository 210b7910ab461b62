# SPDX-License-Identifier: BSD-3-Clause
"""Options of a launcher's command line, split from a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.late import late
from nodewise.base.lists import listed
from nodewise.base.words import split_words
from nodewise.placement.job import Job


@dataclass(frozen=True)
class Beside:
    """A launcher's other options, and how its command lines are written.

    `words` says how many words follow each of those that say nothing of placement. Those in `unmodelled` do bear on it. `settings`
    are options of two words whose first names a parameter, which bears on it where it has one of the parts `places`. Of each
    group of `apart` only one may be given. `names` are what it is called in front of a line, and `fronts` what else may stand
    there, with a note on it; variables that begin with one of `own` bear on placement. With `last`, of an option that is given
    again the last counts; values of those `joined` are put together by commas. Those in `choosing` pick nodes by what they are.
    """

    words: Mapping[str, int] = field(default_factory=dict)
    unmodelled: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()
    names: tuple[str, ...] = ()
    fronts: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    last: bool = False
    joined: tuple[str, ...] = ()
    choosing: tuple[str, ...] = ()


#: Words that start what follows them.
_STARTERS = ("time", "exec", "nohup")
_ASSIGNMENT = late(r"([A-Za-z_][A-Za-z0-9_]*)=.*", re.DOTALL)


def words_of(*by_number: str) -> dict[str, int]:
    """How many words follow each option: `by_number` names those of none, of one, of two, parted by blanks."""
    return {option: number for number, options in enumerate(by_number) for option in options.split()}


def options_and_notes(
    launcher: str,
    text: str,
    known: Mapping[str, str],
    bare: tuple[str, ...] = (),
    beside: Beside | None = None,
) -> tuple[dict[str, str], list[str]]:
    """The options of a text by the name that `known` gives each spelling, and notes; `bare` names take no value.

    Words `--name=value`, `--name value` and `-xvalue` are taken; those `beside`, which say nothing of placement, are passed over,
    and a note names them. A whole command line has the launcher's name in front, perhaps after variables, and ends with a
    program, which is passed over as well. Raises InputError for an option that is not known, given twice, without its value, or
    that bears on placement and is not modelled, and for a program where no launcher is named.
    """
    beside = beside or Beside()
    words = split_words(text, launcher)
    named, notes = _front(launcher, beside, words)
    passed: list[str] = []
    again: list[str] = []
    found: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if named and (word == "--" or not word.startswith("-")):
            notes += _program(launcher, words if word == "--" else [word, *words])
            break
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
            raise _unknown(launcher, word, known)
        if name in found and not beside.last and name not in beside.joined:
            raise InputError(f"{launcher}: {spelt} is given twice", "give it once")
        if name not in bare and not equals:
            if not words:
                raise InputError(f"{launcher}: {spelt} needs a value")
            value = words.pop(0)
        if name in found and name in beside.joined:
            value = f"{found[name]},{value}"
        elif found.get(name, value) != value:
            again.append(spelt)
        found[name] = value
        passed += [spelt] * any(spelt in group for group in beside.apart)
    _refuse_apart(launcher, beside, passed)
    passed = [option for option in dict.fromkeys(passed) if option not in known]
    return found, _on_passed(launcher, beside, passed) + notes + [
        f"{launcher}: {option} is given again, and the last counts" for option in dict.fromkeys(again)
    ]


def _on_passed(launcher: str, beside: Beside, passed: list[str]) -> list[str]:
    """The notes on options that are passed over, and on those that choose nodes."""
    choosing = [option for option in passed if option in beside.choosing]
    others = [option for option in passed if option not in choosing]
    notes = []
    if others:
        notes.append(f"{launcher}: passed over, as it says nothing of placement: {', '.join(others)}")
    if choosing:
        notes.append(
            f"{launcher}: {listed(choosing)} chooses nodes by what they are: this machine is taken for one that is chosen"
        )
    return notes


def in_front(tool: str, words: list[str]) -> bool:
    """Take a tool's name off the words of a line, and variables before it; whether it was there."""
    at = 0
    while at < len(words) and (words[at] in _STARTERS or _ASSIGNMENT.fullmatch(words[at])):
        at += 1
    if at == len(words) or words[at].rpartition("/")[2] != tool:
        return False
    del words[: at + 1]
    return True


def without_program(tool: str, text: str, of_the_tool: Callable[[str, int], bool]) -> str:
    """A line that begins with a tool's name, cut before the program: at -- or the first word that is not the tool's.

    `of_the_tool` is asked for each word behind the name, and how many others that are no options stand before it. Another text is returned as it is.
    """
    words = text.split()
    if not in_front(tool, words):
        return text
    before = 0
    for at, word in enumerate(words):
        if (word == "--" and before) or not (word.startswith("-") or of_the_tool(word, before)):
            return " ".join([tool, *words[:at]])
        before += not word.startswith("-")
    return " ".join([tool, *words])


def _refuse_apart(launcher: str, beside: Beside, given: list[str]) -> None:
    for group in beside.apart:
        both = [option for option in dict.fromkeys(given) if option in group]
        if len(both) > 1:
            raise InputError(f"{launcher} refuses {both[0]} and {both[1]} together", "leave one of them out")


def _front(launcher: str, beside: Beside, words: list[str]) -> tuple[bool, list[str]]:
    """Take the launcher's name off the words, and what stands before it: whether it was there, and notes."""
    at = 0
    variables = []
    while at < len(words) and (words[at] in _STARTERS or _ASSIGNMENT.fullmatch(words[at])):
        match = _ASSIGNMENT.fullmatch(words[at])
        variables += [match[1]] if match else []
        at += 1
    name = words[at].rpartition("/")[2] if at < len(words) else ""
    if name not in (launcher, *beside.names, *beside.fronts):
        return False, []
    bearing = (
        next((variable for variable in variables if variable.startswith(beside.own)), None) if beside.own else None
    )
    if bearing is not None:
        raise InputError(
            f"{launcher}: {bearing} may bear on placement, and what it does is not modelled",
            "leave it out to see the placement of the options",
        )
    del words[: at + 1]
    notes = [f"{launcher}: passed over, as they are not the launcher's: {', '.join(variables)}"] if variables else []
    return True, notes + ([beside.fronts[name]] if name in beside.fronts else [])


def _program(launcher: str, words: list[str]) -> list[str]:
    """The note on the program at the end of a line. Raises InputError where several are started."""
    if ":" in words:
        raise InputError(
            f"{launcher}: several programs in one job, parted by a colon, are not modelled",
            "leave out what follows the colon to see the placement of the first",
        )
    if not words:
        return []
    more = len(words) - 1
    arguments = f" and its argument{'s' if more > 1 else ''}" if more else ""
    return [f"{launcher}: passed over, as it is what is started: {words[0]}{arguments}"]


def _unknown(launcher: str, word: str, known: Mapping[str, str]) -> InputError:
    # each once, as it is spelled first
    first = dict(reversed([(name, s) for s, name in known.items() if s.startswith("-")]))
    options = ", ".join(reversed(first.values()))
    if not word.startswith("-"):
        return InputError(
            f"{launcher}: {word!r} is no option",
            f"leave out the program and what follows it, or write {launcher} in front; known are: {options}",
        )
    return InputError(f"{launcher}: {word!r} is not known here", f"on placement known are: {options}")


def read_options(
    launcher: str, text: str, known: Mapping[str, str], bare: tuple[str, ...] = (), alias: str | None = None
) -> dict[str, str]:
    """The options of a text as `options_and_notes` reads them, for a launcher of which no others are known. Raises InputError as it does."""
    return options_and_notes(launcher, text, known, bare, Beside(names=() if alias is None else (alias,)))[0]


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
    # a node is filled up to what it may have before the next
    return Job(threads, ranks, nodes, job.each or min(per_node or 0, ranks))
