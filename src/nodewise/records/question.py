# SPDX-License-Identifier: BSD-3-Clause
"""What the questions of experiments hold, and the check of `question.json` against the shape of its kind where it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from nodewise.base.escaping import one_line
from nodewise.base.shapes import Amount, Count, NotNegative, Positive, Scalar, ShapeError, Within, fit
from nodewise.machine.model import machine_from_json
from nodewise.records.commit import Commit
from nodewise.records.kind_registry import kind_named
from nodewise.runner.same_output import Kind


class _Budget(TypedDict):
    seconds: Positive | None
    runs: Amount | None


class _Extended(TypedDict):
    runs: Count
    budget: _Budget


class _Objective(TypedDict):
    metric: str
    maximise: bool


class _Shown(TypedDict):
    metrics: Sequence[_Objective]
    currency: str


class _SameOutput(TypedDict):
    kind: Kind
    what: str
    tolerance: NotNegative
    reference: str


class _Steps(TypedDict):
    setup: NotRequired[str | None]
    prepare: NotRequired[str | None]
    conclude: NotRequired[str | None]
    cleanup: NotRequired[str | None]


class _Contender(TypedDict):
    name: str
    text: str
    shell: str | None
    steps: _Steps


class CommonQuestion(TypedDict):
    """What every question holds; the machine has a reader of its own. A kind adds `kind`, its own name as a literal."""

    asked: Sequence[str]
    cwd: str
    user: NotRequired[str]
    home: NotRequired[str]
    machine_is_live: bool
    environment: Mapping[str, str]
    version: str
    id: NotRequired[str]
    commit: NotRequired[Commit | None]
    started_at: str


class BlocksQuestion(CommonQuestion):
    """What those hold that compare settings in blocks."""

    command: Sequence[str]
    axes: Mapping[str, Sequence[Scalar]]
    budget: _Budget
    within: Annotated[float, Within(0, 100)]
    seed: int
    accept_disturbed: NotRequired[bool]
    objective: NotRequired[_Objective]
    shown: NotRequired[_Shown]
    same_output: NotRequired[_SameOutput]
    how: NotRequired[Mapping[str, Any]]
    extended: NotRequired[Sequence[_Extended]]
    timeout_s: NotRequired[Positive | None]


class ComparisonQuestion(BlocksQuestion):
    """What those hold that compare commands."""

    contenders: Sequence[_Contender]
    threshold: NotNegative | None
    warmup: NotRequired[Count]


#: What a reader can do without: where it is damaged the rest is used.
_SPARE = ("id", "commit", "knobs", "shown", "readme", "loaded", "defaults", "earlier", "refuted")


def check_question(question: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The question without what is damaged and spare, and what that is, in words. Raises ShapeError for any other damage."""
    kind = kind_named(fit(question.get("kind"), str, "kind"))
    kept, lost = dict(question), []
    while True:
        try:
            fit(kept, kind.question)
            break
        except ShapeError as problem:
            name = problem.field.partition(".")[0].partition("[")[0]
            if name not in _SPARE or name not in kept:
                raise
            del kept[name]
            lost.append(str(problem))
    machine_from_json(kept.get("machine"), "machine")
    kept = named_in_one_line(kept)
    if kind.check is not None:
        kind.check(kept)
    return kept, lost


def named_in_one_line(question: dict[str, Any]) -> dict[str, Any]:
    """A question that was checked, with the names that stand in lines and tables: of commands and of metrics."""
    named = dict(question)
    if contenders := named.get("contenders"):
        named["contenders"] = [{**one, "name": one_line(one["name"])} for one in contenders]
    if objective := named.get("objective"):
        named["objective"] = {**objective, "metric": one_line(objective["metric"])}
    if shown := named.get("shown"):
        also = [{**one, "metric": one_line(one["metric"])} for one in shown["metrics"]]
        named["shown"] = {**shown, "metrics": also, "currency": one_line(shown["currency"])}
    if isinstance(metrics := (named.get("how") or {}).get("metrics"), Mapping):
        named["how"] = {**named["how"], "metrics": {one_line(str(name)): p for name, p in metrics.items()}}
    return named


def check_contenders(question: Mapping[str, Any]) -> None:
    """Raises ShapeError where there are no commands, or two of one name."""
    names = [c["name"] for c in question["contenders"]]
    if not names or len(set(names)) < len(names):
        raise ShapeError("contenders", "they are no commands of different names")
