# SPDX-License-Identifier: BSD-3-Clause
"""Bytes that are no UTF-8, which names, variables and arguments may hold: Python keeps each as a lone surrogate (PEP 383).

JSON can hold them so, and a shell's word as `quoted` writes it; where people read they are shown as `\\xff`.
"""

from __future__ import annotations

import codecs
import os
import re
from functools import lru_cache
from typing import Any

from nodewise.base.late import late

#: The name of the handler by which a text is encoded with its stray bytes shown.
SHOWN = "nodewise-shown"
_STRAY = late("[\ud800-\udfff]")
#: Characters that a terminal or a browser acts upon instead of showing them: controls, those that turn the direction of writing, and what is not seen.
_ACTING = late("[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
#: By this nobody else's colours pass for those of `painted`: to a terminal it is nothing but zeros, which each colour may begin with.
_OWN = ";".join("0" * (1 + byte % 8) for byte in os.urandom(10))
_PAINTED = late(f"\x1b\\[{_OWN}(?:;([\\d;]+))?m")
#: What a terminal would obey: control characters but for line ends and tabs, those that turn the direction of writing, and
#: sequences other than the colours of `painted`.
_OBEYED = late(
    f"\x1b(?!\\[{_OWN}(?:;[\\d;]+)?m)|\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
#: A stray byte as `repr` writes it.
_WRITTEN = late(r"\\udc([89a-f][0-9a-f])")


def _one(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def escaped(text: str) -> str:
    """The text with each stray byte as `\\xff`; any other text as it is."""
    return _STRAY.sub(_one, text)


def painted(text: str, code: str) -> str:
    """The text in one of a terminal's colours, such as `1;32`, which `harmless` leaves as it is."""
    return f"\x1b[{_OWN};{code}m{text}\x1b[{_OWN}m"


def unmarked(text: str) -> str:
    """The text with the colours of `painted` in the way that all others write them."""
    return _PAINTED.sub(lambda found: f"\x1b[{found[1] or 0}m", text)


def in_quotes(text: str) -> str:
    """A message in which stray bytes stand as `repr` writes them with each as `\\xff`, as it is shown elsewhere."""
    return _WRITTEN.sub(r"\\x\1", text)


def harmless(text: str) -> str:
    """The text with what a terminal would obey, colours of `painted` apart, as `\\x1b`."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _named(code: int) -> str:
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text in one line that can only be read: what a terminal would act upon as `\\x1b`, stray bytes as `\\xff`."""
    return _ACTING.sub(lambda m: _named(ord(m[0])), escaped(text))


@lru_cache(maxsize=1 << 12)
def one_line(name: str) -> str:
    """A name as it is known from where it comes in: what is called by it stands in lines of text, tables and rows."""
    return visible(name)


def escaped_all(value: Any) -> Any:
    """The same of all texts in lists and objects, names among them."""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {escaped(k) if isinstance(k, str) else k: escaped_all(v) for k, v in value.items()}
    return [escaped_all(v) for v in value] if isinstance(value, list | tuple) else value


def _handler(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    # a terminal of another encoding lacks other characters, too
    shown = "".join(
        escaped(c) if _STRAY.match(c) else c.encode("ascii", "backslashreplace").decode()
        for c in problem.object[problem.start : problem.end]
    )
    return shown, problem.end


codecs.register_error(SHOWN, _handler)
