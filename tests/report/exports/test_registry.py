# SPDX-License-Identifier: BSD-3-Clause
"""The registry of exporters: those of the house, what is refused, and which experiments each takes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.report.exports import formats, registry
from nodewise.report.exports.exporter import Exporter
from nodewise.report.exports.registry import export_text, exporters, register


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.EXPORTERS, "_registered", registry.EXPORTERS.all())


def stored_of(kind: str) -> Any:
    """Stands for a stored experiment of a kind."""
    return SimpleNamespace(kind=SimpleNamespace(name=kind))


def test_every_file_of_the_folder_is_an_exporter_with_help() -> None:
    files = {path.stem for path in Path(next(iter(formats.__path__))).glob("*.py")} - {"__init__"}
    own = [e for e in exporters().values() if e.export.__module__.startswith(formats.__name__)]
    assert len(own) == len(files) and all(e.help for e in own)


@pytest.mark.parametrize(
    ("exporter", "message"),
    [
        (Exporter("json", "x", str), "another has its name"),
        (Exporter("Two Words", "x", str), "small letters"),
        (Exporter("made", "", str), "it has no help"),
        (Exporter("made", "x", str, ()), "it takes no kind"),
    ],
)
def test_what_is_not_whole_is_not_registered(exporter: Exporter, message: str) -> None:
    with pytest.raises(InputError, match=message):
        register(exporter)


def test_an_exporter_takes_the_kinds_that_it_names() -> None:
    register(Exporter("made", "x", lambda stored: stored.kind.name, ("study", "tune")))
    assert "made" in exporters("study") and "made" not in exporters("compare")
    assert export_text("made", stored_of("tune")) == "tune"
    with pytest.raises(InputError, match="--export-made is not for a compare") as refused:
        export_text("made", stored_of("compare"))
    assert "--export-json" in str(refused.value.hint)
    with pytest.raises(InputError, match="--export-json is not for a roofline"):
        export_text("json", stored_of("roofline"))
