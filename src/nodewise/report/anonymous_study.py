# SPDX-License-Identifier: BSD-3-Clause
"""A study of a user's own, to be shown to strangers: what it calls itself, its contenders, knobs and metrics, by numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

NAME = "own-study"
#: What a contender that could not run says of itself may name anything.
_NOT_RUN = "it did not run"


class OwnStudy:
    """Leads a study's question and results past their reader without the names that its author gave.

    `parameter`, `value` and `metric` name what stands elsewhere in the record, too.
    """

    def __init__(
        self,
        name: str,
        parameter: Callable[[str], str],
        value: Callable[[str, Any], Any],
        metric: Callable[[str], str],
    ):
        self._parameter, self._value, self._metric = parameter, value, metric
        self._names = {name: NAME}
        self._contenders = 0

    def _contender(self, name: str) -> str:
        if name not in self._names:
            self._contenders += 1
            self._names[name] = f"contender-{self._contenders}"
        return self._names[name]

    def _point(self, point: Mapping[str, Any]) -> dict[str, Any]:
        made = {self._parameter(name): self._value(name, value) for name, value in point.items()}
        self._names |= {name: self._parameter(name) for name in point}
        return made

    def _metrics(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        made = {self._metric(name): number for name, number in numbers.items()}
        self._names |= {name: self._metric(name) for name in numbers}
        return made

    def question(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The question without its README, and with numbers for names."""
        only = [self._contender(name) for name in data["only"]]
        # the plan has the knobs again, and is of use to --resume alone
        kept = {k: v for k, v in data.items() if k != "plan"}
        return {**kept, "study": NAME, "readme": "", "point": self._point(data["point"]), "only": only}

    def result(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """One verdict of the study, as it is kept."""
        rows = [
            {
                **row,
                "contender": self._contender(row["contender"]),
                "point": self._point(row["point"]),
                "metrics": self._metrics(row["metrics"]),
                # a library may be its author's own
                "how": "",
                "unit": "units/s",
                "not_run": row["not_run"] and _NOT_RUN,
            }
            for row in found["rows"]
        ]
        made = {
            **found,
            "title": "a study of the user's own",
            "point": self._point(found["point"]),
            "rows": rows,
            "work": self._metrics(found["work"]),
            "picture": found["picture"] and [self._metric(name) for name in found["picture"]],
            # the metrics that it is made of have no names any more
            "curve": None,
            "report_lines": [],
            "published": [],
        }
        units = {row["unit"] for row in found["rows"] if row["unit"]}
        names = {**dict.fromkeys(units, "units/s"), **self._names}
        longest = sorted(names, key=len, reverse=True)
        pattern = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in longest))

        def plain(value: Any) -> Any:
            if isinstance(value, str):
                return value if value in names.values() else pattern.sub(lambda named: names[named[0]], value)
            if isinstance(value, Mapping):
                return {name: plain(one) for name, one in value.items()}
            return [plain(one) for one in value] if isinstance(value, list | tuple) else value

        kept = ("kind", "verdict", "title", "point", "work", "picture", "stopped")
        shown: dict[str, Any] = {name: value if name in kept else plain(value) for name, value in made.items()}
        for row in shown["rows"]:
            row["kind"] = next(one["kind"] for one in rows if one["contender"] == row["contender"])
        return shown
