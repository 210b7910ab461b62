# SPDX-License-Identifier: BSD-3-Clause
"""A study's result as files: NumPy's archive, comma-separated values, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nodewise.base.errors import InputError
from nodewise.base.files import write_whole
from nodewise.base.frozen import dataclass
from nodewise.studies.contract import Table
from nodewise.studies.results import Result
from nodewise.verdicts.encoding import encode

KINDS = (".npz", ".json", ".csv")
#: In place of a file.
STDOUT = Path("-")


@dataclass(frozen=True)
class TableOutput:
    """Rows of numbers, and the columns' names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ResultOutput:
    """What a study computed at a point, by one variant in so many seconds, as tables by their names."""

    study: str
    point: Mapping[str, str]
    variant: str
    seconds: float
    tables: Mapping[str, TableOutput]


def check_target(path: Path) -> None:
    """Raises InputError for a name whose end is that of no kind of file, or in a directory that is not there."""
    if path == STDOUT:
        return
    if path.suffix not in KINDS:
        raise InputError(f"--result {path}: its end says in which form", f"give a name that ends in {', '.join(KINDS)}")
    if not path.parent.is_dir():
        raise InputError(f"--result {path}: there is no directory {path.parent}", "make it first")


def write_result(result: Result, path: Path) -> tuple[Path, ...]:
    """Write a result and say where: one file, or for CSV one for each table, named after it. Raises StoreError.

    In an archive the names of a table's columns are the array NAME_columns.
    """
    if path.suffix == ".csv":
        places = {name: path.with_name(f"{path.stem}-{name}.csv") for name in result.tables}
        for name, table in result.tables.items():
            write_whole(places[name], _csv(table))
        return tuple(places.values())
    write_whole(path, _npz(result.tables) if path.suffix == ".npz" else json_text(result) + "\n")
    return (path,)


def json_text(result: Result) -> str:
    """A result as JSON."""
    return json.dumps(encode(_output(result)))


def _npz(tables: Mapping[str, Table]) -> bytes:
    named = {name: np.asarray(table.values) for name, table in tables.items()}
    columns = {f"{name}_columns": np.array(table.columns) for name, table in tables.items()}
    whole = io.BytesIO()
    np.savez(whole, allow_pickle=False, **named, **columns)
    return whole.getvalue()


def _csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    # Python's own floats: the fewest digits that give the same number back
    writer.writerows(np.asarray(table.values).tolist())
    return text.getvalue()


def _output(result: Result) -> ResultOutput:
    tables = {
        name: TableOutput(table.columns, tuple(map(tuple, np.asarray(table.values).tolist())))
        for name, table in result.tables.items()
    }
    return ResultOutput(result.study, result.point, result.variant, result.seconds, tables)
