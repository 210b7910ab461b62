# SPDX-License-Identifier: BSD-3-Clause
"""What a study says of itself in Python; its kernels, checks and work model are native (native/abi/kernel.h)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant
from nodewise.base.units import format_bytes, parse_bytes

#: Arrays or knobs by name.
Arrays = Mapping[str, Any]
Point = Mapping[str, str]


@dataclass(frozen=True)
class Knob:
    """A knob of a study: `default` is used (empty: not given), `quick` where time is short.

    `values` are all that it can be; without them it is a whole number from `least` to `most`, any finite number where it is
    `real`, or any `text`. `tries` are what `nodewise tune study:NAME` tries: of what changes how the work is done, not the work itself.
    It means nothing, and is not there, where the knob `unless` is given, such as the size of what a file would bring. A size
    counts so many bytes as `unit` is, and may be given with the suffix of another one: `64KiB`, `1MB`.
    """

    name: str
    meaning: str
    default: str
    values: tuple[str, ...] = ()
    quick: str | None = None
    least: int = 1
    most: int = 2**40
    real: bool = False
    text: bool = False
    tries: tuple[str, ...] = ()
    unless: str = ""
    unit: int = 0

    def read(self, value: str) -> str:
        """A value as kernels read it. Raises InputError for one that it cannot have."""
        if self.unit and _has_suffix(value):
            value = self._size(value)
        if self.values:
            if value not in self.values:
                raise InputError(f"knob {self.name} cannot be {value!r}", f"it can be: {', '.join(self.values)}")
        elif self.real:
            if not _is_real(value):
                raise InputError(f"knob {self.name} takes a number, not {value!r}", "write it such as -0.5 or 1e-3")
        elif not self.text:
            digits = value.removeprefix("-") if self.least < 0 else value
            if not (digits.isascii() and digits.isdigit() and self.least <= int(value) <= self.most):
                raise InputError(
                    f"knob {self.name} takes a whole number from {self.least} to {self.most}, not {value!r}",
                    f"it means: {self.meaning}"
                    + (f"; left out it is {self.default}" if self.default else "")
                    + ("; with a suffix it is any size: 64KiB, 1MB" if self.unit else ""),
                )
        return value

    def _size(self, value: str) -> str:
        size = parse_bytes(value, f"--{self.name}")
        if size % self.unit:
            raise InputError(
                f"knob {self.name} counts {format_bytes(self.unit)}, and {value} is no whole number of them",
                f"write it such as {max(1, round(size / self.unit))}",
            )
        return str(size // self.unit)


def _has_suffix(value: str) -> bool:
    return value[:1].isdigit() and value[-1:].isalpha()


def _is_real(text: str) -> bool:
    """Whether C and Python read it as the same finite number."""
    try:
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


@dataclass(frozen=True)
class Library:
    """Where the library of a native peer is looked for: `files` as the linker names them, in the packages `wheels` of
    Python (folder, file patterns), then on the system. `install` says what brings it, `env` what its process is given (what is to
    be cleared being empty), `notes` what has to be said of it on the processors of a vendor. `version` asks its file, where the
    file's name does not tell. One that `dispatches` chooses its code by the processor.
    """

    files: tuple[str, ...]
    install: str
    wheels: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    version: Callable[[Path], str] | None = None
    dispatches: bool = True


@dataclass(frozen=True)
class Limit:
    """A limit of the machine that no variant can beat: the study's flops or bytes (`per`) at the rate of a study's variant.

    `Limit("flops", "f64", per="flops")` is the time that the work's flops take at the peak which study `flops` measures
    by its variant `f64`, in the same blocks. `point` are that study's knobs.
    """

    study: str
    variant: str
    per: str
    point: Point = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """A figure that was published for a contender (empty: none of ours), with where it was measured."""

    contender: str
    what: str
    value: str
    where: str


@dataclass(frozen=True)
class Curve:
    """Metrics that are one row of numbers, `metric`1, `metric`2 and so on, shares of a whole: what they are over (`over`), and `what`."""

    metric: str
    over: str
    what: str


@dataclass(frozen=True)
class Used:
    """What the use of a study's kernels gave: what to print, what went wrong line by line, the exit code."""

    out: bytes
    errors: tuple[str, ...] = ()
    code: int = 0


@dataclass(frozen=True)
class Table:
    """A part of what a study computes for whoever wants it: `values`, rows × columns, and the columns' names."""

    columns: tuple[str, ...]
    values: Any


@dataclass(frozen=True)
class Study:
    """A program family. `name` is its folder's name and `title` one line.

    `default_variant` is what `nodewise tune study:NAME` starts from, `plain_variant` the straightforward published variant
    that the others are compared with. The rate is items per second times `rate_scale`, in `rate_unit`. For the contract
    test: `test_points` are small and odd sizes as knobs, and `reference` computes the outputs (name → array) from the
    inputs and the point with NumPy; they have to be equal, or within `tolerance` (output → relative, absolute).

    `for_scale` are peers that do it in another way altogether: shown, but not compared with the others. `select`,
    given a point, names the contenders that it is for, where it is not for all; `limits` are those of the machine, besides
    the table's own; `libraries` those of native peers, by the name that the table gives; `bench` the points that
    `./dev bench` measures; `report`, given the result that `--json` prints, gives the lines that are shown below the table, and
    `advise` those that recommend something: it is called only once there were six blocks.

    `threads` is how many it runs with where nothing else is asked for (None: all that may be used); `processors`, given a
    point, those that it has to run on (None: any), such as those near a disk. `picture` names two metrics, more of both being
    better: the page draws the contenders by them, with those that no other beats. `curve` are metrics that the page draws as a
    row of bars and their sum so far, and leaves out of the table. `uses` puts the kernels to use on what its
    user has, without measuring: by the option that asks for it (`--files`), given all options and the number of threads.

    `result` is there where what is computed is of use by itself (`--result FILE`): of the outputs as flat arrays, and the point,
    it makes tables by their names.

    `fixed` are inputs that are the same for each seed, such as which entries a matrix has.

    `joined` is there where the study runs over ranks too: given the arrays of all ranks in turn, and the point, it gives
    those that one rank alone would have.
    """

    name: str
    title: str
    knobs: tuple[Knob, ...]
    default_variant: str
    plain_variant: str
    rate_unit: str
    rate_scale: float
    test_points: tuple[Point, ...]
    reference: Callable[[Arrays, Point], Arrays]
    tolerance: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    libraries: Mapping[str, Library] = field(default_factory=dict)
    published: tuple[Published, ...] = ()
    bench: tuple[Point, ...] = ({},)
    for_scale: tuple[str, ...] = ()
    select: Callable[[Point], Collection[str]] | None = None
    report: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    advise: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    threads: int | None = None
    processors: Callable[[Point], Collection[int] | None] | None = None
    picture: tuple[str, str] | None = None
    uses: Mapping[str, Callable[[Mapping[str, Sequence[str]], int], Used]] = field(default_factory=dict)
    joined: Callable[[Sequence[Arrays], Point], Arrays] | None = None
    fixed: tuple[str, ...] = ()
    result: Callable[[Arrays, Point], Mapping[str, Table]] | None = None
    curve: Curve | None = None

    def point(self, given: Point, quick: bool = False) -> dict[str, str]:
        """The knobs' values, those given over the defaults.

        Raises InputError for an unknown knob or value, and for one that means nothing beside another.
        """
        known = {k.name: k for k in self.knobs}
        read: dict[str, str] = {}
        for name, value in given.items():
            if name not in known:
                raise InputError(
                    f"study {self.name} has no knob {name!r}{meant(name, known)}", f"its knobs are: {', '.join(known)}"
                )
            read[name] = known[name].read(value)
            if value and given.get(other := known[name].unless):
                raise InputError(
                    f"knob {name} means nothing beside {other}", f"leave out one of them: {name} or {other}"
                )
        chosen = {k.name: k.quick if quick and k.quick is not None else k.default for k in self.knobs}
        return {k: v for k, v in {**chosen, **read}.items() if v and not given.get(known[k].unless)}


def parse_knobs(words: Sequence[str]) -> dict[str, str]:
    """Read `NAME=VALUE` words; values of a name that is given again are joined by commas. Raises InputError for any other."""
    pairs: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name or not value:
            raise InputError(f"not a knob: {word!r}", "write it such as class=A")
        pairs[name] = f"{pairs[name]},{value}" if name in pairs else value
    return pairs
