# SPDX-License-Identifier: BSD-3-Clause
"""JSON objects that are mostly alike, one after another: a member whose text was read before is not read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nodewise.base.bounded_json import DEEPEST, parse_json

#: So many texts of a member are remembered, the last ones that differed.
_MOST = 16
_MOST_NAMES = 100
#: A call for each number, which bounds would need, takes longer than all else.
_scan: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder(parse_constant=lambda _: None))["scan_once"]


class AlikeObjects:
    """Reads objects as `parse_json` does, but for numbers: they have no bounds, and may be infinite.

    Members of equal text are one object: nobody may change it, and `is` tells that they are equal.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[str, Any]]] = {}

    def parse(self, data: bytes) -> Any:
        """The value of a text. Raises ValueError, in words, where it is no JSON or beyond the bounds."""
        try:
            return self._members(data.decode())
        except (_OtherwiseError, StopIteration, ValueError, RecursionError):
            # written otherwise, or wrong: what is wrong is said there
            return parse_json(data)

    def _members(self, text: str) -> dict[str, Any]:
        if text[:2] != '{"':
            raise _OtherwiseError
        found: dict[str, Any] = {}
        at = 1
        while True:
            begin = text.index('":', at + 1) + 2
            name = text[at + 1 : begin - 2]
            known = self._known.get(name)
            if text[at] != '"' or (known is None and not self._is_taken(name)):
                raise _OtherwiseError
            for its, value in known or ():  # noqa: B007
                if text.startswith(its, begin):
                    at = begin + len(its)
                    break
            else:
                value, at = _scan(text, begin)
                its = text[begin:at]
                if "\\u" in its or its.count("[") + its.count("{") >= DEEPEST:
                    # halves of characters and depths are looked for there
                    [value] = parse_json(f"[{its}]")
                if type(value) is dict and value:
                    several = self._known[name]
                    several.insert(0, (its, value))
                    del several[_MOST:]
            found[name] = value
            mark = text[at : at + 1]
            if mark != ",":
                if mark == "}" and not text[at + 1 :].strip(" \t\r\n"):
                    return found
                raise _OtherwiseError
            at += 1

    def _is_taken(self, name: str) -> bool:
        """Whether a name that is new is written plainly, and has room."""
        if len(self._known) >= _MOST_NAMES or '"' in name or "\\" in name or not name.isprintable():
            return False
        self._known[name] = []
        return True


class _OtherwiseError(Exception):
    """The text is not of the form that is read here."""
