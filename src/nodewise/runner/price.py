# SPDX-License-Identifier: BSD-3-Clause
"""Price: what an hour of the machine costs, and so a run."""

from __future__ import annotations

import os
import re

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.runner.setting import Setting

#: The metric that a price gives to each sample.
COST = "cost"


@dataclass(frozen=True)
class Price:
    """`per_hour` of `currency` (any text, or none) for the whole machine.

    `by_share`: only the share of the allowed processors that a setting may use is paid for.
    """

    per_hour: float
    currency: str = ""
    by_share: bool = False

    def of(self, setting: Setting, wall_s: float) -> float:
        """What a run of `wall_s` seconds costs."""
        share = share_used(setting, len(os.sched_getaffinity(0))) if self.by_share else 1.0
        return self.per_hour * share * wall_s / 3600


def parse_price(text: str, by_share: bool = False) -> Price:
    """Read `3.2/h`, `3.2EUR/h`, `0.4 $/h` or `€3/h`. Raises InputError where it is no price above zero for an hour."""
    match = re.fullmatch(r"\s*([^\d\s.,/+-]*)\s*(\d+(?:\.\d*)?|\.\d+)\s*([^\d\s.,/+-]*)\s*/\s*h(?:our)?\s*", text)
    if match is None or (match[1] and match[3]) or float(match[2]) <= 0:
        raise InputError(
            f"--cost: not a price for an hour: {text!r}",
            "write it such as --cost 3.2/h, --cost 3.2EUR/h or --cost '0.4$/h'",
        )
    return Price(float(match[2]), match[1] or match[3], by_share)


def share_used(setting: Setting, allowed: int) -> float:
    """Which share of `allowed` processors a setting may use: its mask, its places, or ranks × threads; else all of them."""
    if setting.mask is not None:
        used = len(setting.mask)
    elif setting.places is not None:
        used = len({p for place in setting.places for p in place})
    elif "threads" in setting.values:
        used = int(setting.values["threads"]) * int(setting.values.get("ranks", 1))
    else:
        return 1.0
    return min(1.0, used / max(1, allowed))
