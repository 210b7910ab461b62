# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise pipeline` as it is typed: what it prints, and what it refuses."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from nodewise.api.pipeline import carry_out, prepare_pipeline
from nodewise.base.errors import UnavailableError
from nodewise.cli import pipeline_progress
from nodewise.cli.pipeline_progress import PipelineProgress
from tests.cli.conftest import Command
from tests.pipelines.files import simple, written


def test_tables_and_a_sentence(nodewise: Command, tmp_path: Path) -> None:
    pytest.importorskip("nodewise_transport", reason="messages are those of nodewise-transport")
    path = written(tmp_path, simple("kind = 'generator'\nsize = 100\ncount = 30\nrate = 300", "kind = 'checksum'"))
    done = nodewise("pipeline", str(path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:5] == ["device", "kind", "state", "in", "out"]
    assert lines[1].split()[:5] == ["source", "generator", "done", "0", "30"]
    assert lines[2].split()[:5] == ["out", "discard", "done", "30", "0"]
    assert lines[6].split()[:5] == ["raw", "source", "middle", "shm", "30"]
    assert "sets the pace" in done.stdout and "all sources ended" in lines[-1]


def test_a_failure_is_told_and_is_exit_code_1(nodewise: Command, tmp_path: Path) -> None:
    pytest.importorskip("nodewise_transport", reason="messages are those of nodewise-transport")
    done = nodewise("pipeline", str(written(tmp_path, simple("kind = 'generator'", "kind = 'command'\nrun = 'false'"))))
    assert done.returncode == 1
    assert "failed     middle.0: false ended with 1 for message 0" in done.stdout


def test_check_starts_nothing(nodewise: Command, tmp_path: Path) -> None:
    path = written(tmp_path, simple("kind = 'generator'", sink="kind = 'file'\npath = 'out'"))
    done = nodewise("pipeline", "--check", str(path))
    assert done.returncode == 0 and done.stdout.endswith("nothing is wrong with it\n")
    assert not (tmp_path / "out").exists()
    ignored = nodewise("pipeline", "--check", "--duration", "1s", str(path))
    assert ignored.returncode == 2 and "--duration would do nothing" in ignored.stderr
    path.write_text("[device.a]\nkind = 'generator'\nsise = 3\n")
    wrong = nodewise("pipeline", "--check", str(path))
    assert wrong.returncode == 2 and "p.toml:3: device.a.sise" in wrong.stderr


def test_what_brings_the_messages_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "nodewise_transport" else sys)
    with pytest.raises(UnavailableError) as caught:
        carry_out(prepare_pipeline(written(tmp_path, simple("kind = 'generator'"))), None)
    assert "in a checkout of nodewise: pip install ./transport; " in str(caught.value.hint)


def test_the_page_is_written_anew_every_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Clock:
        now: float = 100.0

        def monotonic(self) -> float:
            return self.now

    clock, written_at = Clock(), []
    monkeypatch.setattr(pipeline_progress, "time", clock)
    monkeypatch.setattr(pipeline_progress, "write_page", lambda *_: written_at.append(clock.now))
    progress = PipelineProgress(quiet=True, html=tmp_path / "page.html")
    for clock.now in (100.0, 101.0, 101.9, 102.1, 103.0, 104.0, 104.2):
        progress.show(None)  # type: ignore[arg-type]
    assert written_at == [100.0, 102.1, 104.2]
