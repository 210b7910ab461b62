# SPDX-License-Identifier: BSD-3-Clause
"""Knob: something that changes how a library works, as the catalogue describes it, and the variables that set it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from nodewise.base.frozen import dataclass

#: The value of a knob that is left as it is, and where the user has set it, the value that takes that back.
DEFAULT, UNSET = "default", "unset"

#: What a knob may bear on besides the time in files, as `time` of a knob names it: functions that give out memory, page faults, those beyond one
#: for each page held at the peak, waiting threads, the kernel, and all of the processes that load the library.
ALLOCATION, FAULTS, FAULTS_AGAIN, WAITING, SYSTEM, WITHIN = (
    "[allocation]",
    "[faults]",
    "[faults-again]",
    "[waiting]",
    "[kernel]",
    "[process]",
)
PLACES = (ALLOCATION, FAULTS, FAULTS_AGAIN, WAITING, SYSTEM, WITHIN)

#: How a value comes into a variable: `plain`: it is the whole of it; `tunable`: one `part=value` of several between colons;
#: `conf`: one `part:value` of several between commas; `debug`: one `part=value` between commas; `options`: one word of
#: several between blanks; `preload`: the first file of several between colons.
FORMS = ("plain", "tunable", "conf", "debug", "options", "preload")
_JOINED = {"tunable": (":", "="), "conf": (",", ":"), "debug": (",", "=")}


@dataclass(frozen=True)
class Setter:
    """What sets something: a variable, as a whole or a part of it. `replaces` matches words that a new one takes the place of."""

    variable: str
    form: str = "plain"
    part: str = ""
    replaces: str = ""

    def read(self, environment: Mapping[str, str]) -> str | None:
        """What is set in an environment; None where nothing is."""
        held = environment.get(self.variable)
        if held is None:
            return None
        if self.form == "plain":
            return held
        if self.form in _JOINED:
            between, sign = _JOINED[self.form]
            entries = [entry.partition(sign) for entry in held.split(between)]
            # of one given twice the last counts, for glibc as for jemalloc and Go
            return next((value for name, _, value in reversed(entries) if name == self.part), None)
        words = held.split() if self.form == "options" else _files(held)
        return next((w for w in reversed(words) if re.fullmatch(self.replaces, w)), None)

    def write(self, text: str, environment: Mapping[str, str]) -> dict[str, str]:
        """The variable with the text in it and all else that an environment has there kept."""
        held = environment.get(self.variable, "")
        if self.form == "plain":
            return {self.variable: text}
        if self.form in _JOINED:
            between, sign = _JOINED[self.form]
            kept = [e for e in held.split(between) if e and e.partition(sign)[0] != self.part]
            return {self.variable: between.join([*kept, f"{self.part}{sign}{text}"])}
        kept = self._other_words(held)
        if self.form == "options":
            return {self.variable: " ".join([*kept, text])}
        return {self.variable: ":".join([text, *(w for w in kept if w != text)])}

    def erase(self, environment: Mapping[str, str]) -> str:
        """What is left in the variable once this is taken out of it; empty where that is nothing."""
        held = environment.get(self.variable, "")
        if self.form == "plain":
            return ""
        if self.form in _JOINED:
            between, sign = _JOINED[self.form]
            return between.join(e for e in held.split(between) if e and e.partition(sign)[0] != self.part)
        return (" " if self.form == "options" else ":").join(self._other_words(held))

    def _other_words(self, held: str) -> list[str]:
        words = held.split() if self.form == "options" else _files(held)
        return [w for w in words if not (self.replaces and re.fullmatch(self.replaces, w))]


def _files(preload: str) -> list[str]:
    """The loader takes colons and blanks between preloaded files."""
    return [f for f in re.split(r"[:\s]+", preload) if f]


@dataclass(frozen=True)
class Choice:
    """A value of a knob: `name` is what people read, `text` what is set, `needs` the processor's features that it takes.

    `spellings` are other texts that mean it to other versions of the library; which one does, the library is asked.
    `grows` is how many times the memory of a default run it may make a program hold. `helps`, `risk` and `source` take the
    place of the knob's where this value differs in kind from the others (None: they do not).
    """

    name: str
    text: str
    needs: tuple[str, ...] = ()
    meaning: str = ""
    spellings: tuple[str, ...] = ()
    grows: float = 1.0
    helps: str | None = None
    risk: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Knob:
    """Something to set, as the catalogue describes it; see `catalogue/README.md` for the fields.

    `library` and `title` are the catalogue entry's names, `default` the value that holds unless something is set: the
    word `default`, or what the user has set. `usual` says what the library does then. `exact`: results are the same bit
    by bit whatever the value. `parallel` is `threads` or `ranks` where it matters only with several of them, else empty.
    `time` are patterns of what the time is spent in that it bears on (see `priority.py`). With `huge_pages` it does something only
    under those settings of the system. With `set_by_user` there may also be the value `unset`. `own` is what the library said
    that it takes by itself, where it was asked. `worth` is how much is to be expected of it where all of the time is spent there, 0 to 100. `ask` are
    functions of the library that report its own choice, `also` variables that set the same thing in another way, `arguments` a
    pattern of words of a command that do. `without` are axes whose values, other than their defaults, make it meaningless.
    """

    name: str
    library: str
    title: str
    setter: Setter
    choices: tuple[Choice, ...]
    meaning: str
    helps: str
    source: str
    usual: str
    risk: str = ""
    exact: bool = True
    parallel: str = ""
    worth: int = 0
    ask: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    imports: str = ""
    time: tuple[str, ...] = ()
    arguments: str = ""
    without: tuple[str, ...] = ()
    huge_pages: tuple[str, ...] = ()
    default: str = DEFAULT
    set_by_user: bool = False
    own: str = ""
    #: What its JSON has besides its fields.
    computed: ClassVar[tuple[str, ...]] = ("values",)

    @property
    def values(self) -> tuple[str, ...]:
        """What an axis may take: the default first. What the library takes by itself is not there twice.

        Where the user has set it, that comes next: it is what most programs run with.
        """
        names = [c.name for c in self.choices]
        if not self.set_by_user:
            return (self.default, *(n for n in names if n.lower() != self.own.lower()))
        own = next((n for n in names if n.lower() == self.own.lower()), UNSET)
        return tuple(dict.fromkeys([self.default, own, *names]))

    def choice(self, value: str) -> Choice | None:
        """The choice of that name. None for the default that sets nothing."""
        return next((c for c in self.choices if c.name == value), None)

    def helps_by(self, value: str) -> str:
        """Why a value may help."""
        choice = self.choice(value)
        return self.helps if choice is None or choice.helps is None else choice.helps

    def risk_of(self, value: str) -> str:
        """What a value may cost; empty where nothing is known."""
        choice = self.choice(value)
        return self.risk if choice is None or choice.risk is None else choice.risk

    def source_of(self, value: str) -> str:
        """Where a value is documented."""
        choice = self.choice(value)
        return self.source if choice is None or choice.source is None else choice.source


@dataclass(frozen=True)
class Follower:
    """A variable that says once more what an axis says: OPENBLAS_NUM_THREADS in addition to `threads`.

    `template` holds `{n}` for the axis's number. With `reads` the library takes that variable's number where its own is
    not set, so that nothing needs to be said unless the user has set its own. `counts_mask`: left to itself it takes as
    many as there are processors in its mask.
    """

    library: str
    setter: Setter
    follows: str
    template: str
    meaning: str
    source: str
    reads: str = ""
    counts_mask: bool = False


@dataclass(frozen=True)
class Library:
    """A runtime or library of the catalogue: how it is known, and its knobs.

    `files` are patterns of file names (as in a shell), or of paths where they hold a slash; `marks` texts in the file of a program
    that is linked statically with it, or with `marks_anywhere` of any program; `words` patterns of the words of command lines.
    It is passed over where a library named in `unless` is loaded. `time` is what its knobs bear on unless they say so themselves.
    `preloads` are the file names under which an allocator is looked for to preload it, `ask_version` functions that report
    its version in a text.
    """

    name: str
    title: str
    about: str
    source: str
    files: tuple[str, ...]
    marks: tuple[str, ...] = ()
    marks_anywhere: bool = False
    words: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    preloads: tuple[str, ...] = ()
    ask_version: tuple[str, ...] = ()
    knobs: tuple[Knob, ...] = ()
    followers: tuple[Follower, ...] = ()


def as_set_by_the_user(knob: Knob, environment: Mapping[str, str]) -> Knob:
    """The knob with what the environment sets as its default."""
    held = knob.setter.read(environment)
    if held is None:
        return knob
    same = next((c for c in knob.choices if c.text.lower() == held.lower()), None)
    if same is not None:
        return replace(knob, default=same.name, set_by_user=True)
    choices = (Choice(held, held, meaning="as you have set it"), *knob.choices)
    return replace(knob, default=held, choices=choices, set_by_user=True)


def apply(knob: Knob, value: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that set a knob to a value, joined to what an environment has in them; none for the knob's default.

    Where several knobs are set, give each the environment with those before it. For `unset` see `cleared` too. Raises
    KeyError for a value that the knob does not have.
    """
    if value == knob.default:
        return {}
    if value == UNSET and knob.set_by_user:
        left = knob.setter.erase(environment)
        return {knob.setter.variable: left} if left else {}
    choice = knob.choice(value)
    if choice is None:
        raise KeyError(f"{knob.name} has no value {value!r}")
    return knob.setter.write(choice.text, environment)


def cleared(knob: Knob, value: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables to take out of the environment for a value: only `unset` has any."""
    if value != UNSET or not knob.set_by_user or knob.setter.erase(environment):
        return ()
    return (knob.setter.variable,)
