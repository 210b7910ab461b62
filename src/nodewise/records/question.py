# SPDX-License-Identifier: BSD-3-Clause
"""What the questions of experiments hold: the shapes that `question.json` is checked against where it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from nodewise.base.shapes import Amount, Count, NotNegative, Positive, Scalar, ShapeError, Share, Within, fit, shown
from nodewise.machine.model import machine_from_json
from nodewise.runner.launch import Start
from nodewise.runner.loaded import Loaded
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


class _Knob(TypedDict):
    title: str
    variable: str
    source: str
    exact: bool
    share: NotRequired[Share | None]
    why: Mapping[str, str]
    sources: NotRequired[Mapping[str, str]]


class _Wanted(TypedDict):
    parameters: Mapping[str, Sequence[Scalar]]
    variables: Mapping[str, Sequence[Scalar]]
    build: str | None
    constraints: Sequence[str]


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


class _Promise(TypedDict):
    experiment: str
    taken_at: str
    one: str
    other: str
    ratio: Positive
    low: Positive
    high: Positive
    launch_line: str
    command: Sequence[str]
    differences: Sequence[str]
    notes: Sequence[str]


class _Question(TypedDict):
    """What every question holds; the machine has a reader of its own."""

    asked: Sequence[str]
    cwd: str
    machine_is_live: bool
    environment: Mapping[str, str]
    version: str
    started_at: str


class _Blocks(_Question):
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


class _Tune(_Blocks):
    kind: Literal["tune"]
    wanted: _Wanted
    start: NotRequired[Start]
    loaded: NotRequired[Loaded | None]
    knobs: NotRequired[Mapping[str, _Knob]]


class _Compare(_Blocks):
    kind: Literal["compare", "run", "confirm"]
    contenders: Sequence[_Contender]
    threshold: float | None
    warmup: NotRequired[Count]


class _Confirm(_Compare):
    promise: _Promise


class _Study(_Question):
    kind: Literal["study"]
    readme: NotRequired[str]


class _Roofline(_Question):
    kind: Literal["roofline"]


_SHAPES: Mapping[str, Any] = {
    "tune": _Tune,
    "compare": _Compare,
    "run": _Compare,
    "confirm": _Confirm,
    "study": _Study,
    "roofline": _Roofline,
}
#: What a reader can do without: where it is damaged the rest is used.
_SPARE = ("knobs", "shown", "readme", "loaded")


def check_question(question: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The question without what is damaged and spare, and what that is, in words. Raises ShapeError for any other damage."""
    kind = fit(question.get("kind"), str, "kind")
    if kind not in _SHAPES:
        raise ShapeError("kind", f"there is no kind of experiment {shown(kind)}")
    kept, lost = dict(question), []
    while True:
        try:
            fit(kept, _SHAPES[kind])
            break
        except ShapeError as problem:
            name = problem.field.partition(".")[0].partition("[")[0]
            if name not in _SPARE or name not in kept:
                raise
            del kept[name]
            lost.append(str(problem))
    machine_from_json(kept.get("machine"), "machine")
    if "contenders" in kept:
        _check_contenders(kept)
    return kept, lost


def _check_contenders(question: Mapping[str, Any]) -> None:
    names = [c["name"] for c in question["contenders"]]
    if not names or len(set(names)) < len(names):
        raise ShapeError("contenders", "they are no commands of different names")
    if question["kind"] == "confirm" and {question["promise"]["one"], question["promise"]["other"]} - set(names):
        raise ShapeError("promise", "it is of no command that was run")
