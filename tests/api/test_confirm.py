# SPDX-License-Identifier: BSD-3-Clause
"""What `confirm` makes of what it is given, before anything is read."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from nodewise.api.confirm import _changed_environment, prepare_confirm
from nodewise.base.errors import InputError
from nodewise.machine.sources import load_machine
from nodewise.records.kept_variables import KEPT_VARIABLES
from tests.verdicts.cases import Runs, compared


def test_isolation_is_refused_as_settings_run_as_recorded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="isolation cannot be given to confirm"):
        prepare_confirm(tmp_path, (), tmp_path / "out", how={"isolation": "bwrap"})


def test_variables_that_were_set_otherwise_then_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith(KEPT_VARIABLES)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("OMP_SCHEDULE", "static")
    monkeypatch.setenv("HOME", "/elsewhere")
    then = SimpleNamespace(environment={"OMP_SCHEDULE": "static", "OMP_PLACES": "cores"})
    assert _changed_environment(then) == [  # type: ignore[arg-type]
        "OMP_NUM_THREADS is 7 now; runs are made as then, with it not set",
        "OMP_PLACES is not set now; runs are made as then, with it set to cores",
    ]


@pytest.mark.parametrize(
    ("given", "bounds"),
    [({}, (1, None)), ({"runs": 9}, (9, 9)), ({"max_runs": 40}, (1, 40))],
)
def test_as_many_runs_as_are_asked_for_bound_them_from_both_sides(
    tmp_path: Path, given: dict[str, int], bounds: tuple[int, int | None]
) -> None:
    compared(
        tmp_path / "x",
        {"a": Runs(1.0), "b": Runs(0.5)},
        12,
        machine=load_machine().to_json(),
        command=["a"],
        cwd=str(tmp_path),
    )
    asked = prepare_confirm(tmp_path / "x", (), tmp_path / "out", **given).question  # type: ignore[arg-type]
    assert (asked.fewest, asked.most) == bounds


@pytest.mark.parametrize(("within", "asked"), [(None, 0.05), ("2%", 0.02)])
def test_what_is_not_asked_for_is_as_it_was_then_and_what_is_goes_before_it(
    tmp_path: Path, within: str | None, asked: float
) -> None:
    more = {"machine": load_machine().to_json(), "command": ["a"], "cwd": str(tmp_path), "within": 0.05}
    compared(tmp_path / "x", {"a": Runs(1.0), "b": Runs(0.5)}, 12, **more, environment={"OMP_NUM_THREADS": "3"})
    how = {"env": {"OMP_NUM_THREADS": "5"}} if within else {}
    found = prepare_confirm(tmp_path / "x", (), tmp_path / "out", within=within, how=how)
    assert found.question.within == asked
    assert found.question.environment["OMP_NUM_THREADS"] == ("5" if within else "3")
