# SPDX-License-Identifier: BSD-3-Clause
"""Wanted: what a user wants to be tried besides the axes' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from nodewise.base.frozen import dataclass


@dataclass(frozen=True)
class Wanted:
    """What a user wants to be tried besides the axes' names: values for `{NAME}` in the command, variables, flags.

    `build` is a shell command that makes the program, with `{flags}` or parameters in it; `constraints` are conditions.
    `isolation` are texts of `--isolation`: the values of that axis, or, where it is none, the one by which all is isolated.
    """

    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    variables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    build: str | None = None
    constraints: Sequence[str] = ()
    isolation: Sequence[str] = ()
