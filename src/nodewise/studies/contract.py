# SPDX-License-Identifier: BSD-3-Clause
"""What a study says of itself in Python; its kernels, checks and work model are native (native/abi/kernel.h)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nodewise.base.errors import InputError


@dataclass(frozen=True)
class Knob:
    """A knob of a study: `values` may be given (empty: any number), `default` is used, `quick` where time is short."""

    name: str
    meaning: str
    default: str
    values: tuple[str, ...] = ()
    quick: str | None = None


@dataclass(frozen=True)
class Study:
    """A program family that ships with nodewise. `name` is its folder's name and `title` one line.

    `default_variant` is what `nodewise tune study:NAME` runs, `plain_variant` the straightforward published way that the
    others are compared with. The rate is items per second times `rate_scale`, in `rate_unit`. For the contract test:
    `test_points` are small and odd sizes as knobs, and `reference` computes the outputs (name → array) from the inputs
    and the point with NumPy.
    """

    name: str
    title: str
    knobs: tuple[Knob, ...]
    default_variant: str
    plain_variant: str
    rate_unit: str
    rate_scale: float
    test_points: tuple[Mapping[str, str], ...]
    reference: Callable[[Mapping[str, Any], Mapping[str, str]], Mapping[str, Any]]
    dtypes: Mapping[str, str] = field(default_factory=dict)

    def point(self, given: Mapping[str, str], quick: bool = False) -> dict[str, str]:
        """The knobs' values, those given over the defaults. Raises InputError for an unknown knob or value."""
        known = {k.name: k for k in self.knobs}
        for name, value in given.items():
            if name not in known:
                raise InputError(f"study {self.name} has no knob {name!r}", f"its knobs are: {', '.join(known)}")
            values = known[name].values
            if values and value not in values:
                raise InputError(f"knob {name} cannot be {value!r}", f"it can be: {', '.join(values)}")
            if not values and not (value.isdigit() and int(value) > 0):
                raise InputError(f"knob {name} takes a number above zero, not {value!r}")
        chosen = {k.name: k.quick if quick and k.quick is not None else k.default for k in self.knobs}
        return {k: v for k, v in {**chosen, **given}.items() if v}


def parse_knobs(words: tuple[str, ...] | list[str]) -> dict[str, str]:
    """Read `NAME=VALUE` words. Raises InputError for any other."""
    pairs = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name or not value:
            raise InputError(f"not a knob: {word!r}", "write it such as class=A")
        pairs[name] = value
    return pairs
