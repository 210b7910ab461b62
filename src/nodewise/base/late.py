# SPDX-License-Identifier: BSD-3-Clause
"""Regular expressions that are compiled when they are first used: compiling is most of the time that their modules take to load."""

from __future__ import annotations

import re
from typing import Any, cast


class _Late:
    """Stands for a pattern; what is asked of it is asked of the pattern, which is made then."""

    def __init__(self, text: str, flags: int):
        self._asked = (text, flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._asked), name)
        # asked for once: from then on it is an attribute of this object
        self.__dict__[name] = found
        return found


def late(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`; a wrong expression is found when it is first used."""
    return cast("re.Pattern[str]", _Late(text, flags))
