# SPDX-License-Identifier: BSD-3-Clause
"""What every study has to hold; nobody edits this to add one."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nodewise.base.errors import InputError
from nodewise.cli.commands.study import command as study_command
from nodewise.cli.commands.study import split_knobs
from nodewise.studies.commands import (
    Contender,
    native_contenders,
    script_contenders,
    simd_targets,
    tunable_command,
    worker_command,
)
from nodewise.studies.contract import parse_knobs
from nodewise.studies.discovery import Found, find_study, study_names
from nodewise.tuning.axes import AXES

STUDIES = [find_study(name) for name in study_names()]
TARGETS = {found.study.name: simd_targets(found) for found in STUDIES}


def _cases() -> list[Any]:
    """A point with all its contenders, which share what is due of it, then the next."""
    return [
        pytest.param(found, contender, point, id=f"{found.study.name}-{contender.name}-{point}")
        for found in STUDIES
        for contenders in [[c for c in native_contenders(found, {}) if c.kind != "limit" and c.not_run is None]]
        for point in found.study.test_points
        for contender in contenders
        if found.study.select is None or contender.name in found.study.select(found.study.point(point))
    ]


def _worker(found: Found, variant: str, point: Mapping[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [*worker_command(found, variant, found.study.point(point)), *_library(found, variant), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _worker_with(found: Found, peer: Contender, point: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [*worker_command(found, peer.name, found.study.point(point)), *_library(found, peer.name)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=_environment(peer))


def _plain(found: Found) -> str:
    """The plain variant, or the first of the table where that is a program."""
    names = [c.name for c in native_contenders(found, {})]
    return found.study.plain_variant if found.study.plain_variant in names else names[0]


def _library(found: Found, variant: str) -> tuple[str, ...]:
    """The worker's option that names the library of a variant that is by one."""
    return _library_of(next((c for c in native_contenders(found, {}) if c.name == variant), None))


def _library_of(contender: Contender | None) -> tuple[str, ...]:
    command = contender.command if contender is not None else ()
    return command[command.index("--library") :] if "--library" in command else ()


def _environment(contender: Contender) -> dict[str, str]:
    """As for a run of it: what its environment has empty is not set."""
    return {name: value for name, value in {**os.environ, **contender.env}.items() if contender.env.get(name) != ""}


def _load(folder: Path) -> dict[str, Any]:
    return {p.stem: np.load(p) for p in folder.glob("*.npy")}


class Read(Mapping[str, Any]):
    """Arrays, and which of them were looked at."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays
        self.seen: dict[str, bytes] = {}

    def __getitem__(self, name: str) -> Any:
        self.seen[name] = self._arrays[name].tobytes()
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


class Due:
    """The trusted result, which takes longer than what is tested: found again only where what it was found of differs."""

    def __init__(self) -> None:
        self._of: tuple[Found, Mapping[str, str]] | None = None
        self._seen: Mapping[str, bytes] = {}
        self._results: Mapping[str, Any] = {}

    def results(self, found: Found, point: Mapping[str, str], arrays: Mapping[str, Any]) -> Mapping[str, Any]:
        same = all(name in arrays and arrays[name].tobytes() == seen for name, seen in self._seen.items())
        if self._of != (found, point) or not same:
            read = Read(arrays)
            self._results = found.study.reference(read, found.study.point(point))
            self._of, self._seen = (found, point), read.seen
        return self._results


DUE = Due()


def _assert_right(found: Found, point: Mapping[str, str], folder: Path) -> None:
    arrays = _load(folder)
    for name, want in DUE.results(found, point, arrays).items():
        if name not in found.study.tolerance:
            np.testing.assert_array_equal(arrays[name], want)
        else:
            relative, absolute = found.study.tolerance[name]
            np.testing.assert_allclose(arrays[name], want, rtol=relative, atol=absolute)


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_the_folder_is_whole(found: Found) -> None:
    assert found.folder.name == found.study.name
    assert len((found.folder / "README.md").read_text()) > 300
    contenders = native_contenders(found, {})
    names = [c.name for c in (*contenders, *script_contenders(found, {}))]
    assert len(set(names)) == len(names)
    assert found.study.default_variant in names
    assert found.study.plain_variant in names
    # what measures a limit of the machine has none besides
    measures = any(found.study.name == limit.study for other in STUDIES for limit in other.study.limits)
    assert measures or found.study.limits or any(c.kind == "limit" for c in contenders)
    for limit in found.study.limits:
        other = find_study(limit.study)
        assert limit.variant in [c.name for c in native_contenders(other, {})]
        other.study.point(limit.point)
    assert {p.contender for p in found.study.published} <= {"", *names}
    assert {path.stem for _, path in found.scripts} >= set(found.study.for_scale)
    assert len(found.study.test_points) >= 5


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_the_knobs_are_whole(found: Found) -> None:
    for point in ({}, *found.study.test_points, *found.study.bench):
        found.study.point(point)
        found.study.point(point, quick=True)
    for knob in found.study.knobs:
        assert knob.meaning
        for value in (*knob.tries, *filter(None, (knob.default, knob.quick))):
            knob.check(value)


@pytest.mark.parametrize(("found", "contender", "point"), _cases())
def test_a_variant_agrees_with_the_trusted_result(
    found: Found, contender: Contender, point: Mapping[str, str], tmp_path: Path
) -> None:
    environment = _environment(contender)
    sets = [(t, None) for t in ("1", "2", "5")]
    sets += [("2", target) for target in TARGETS[found.study.name]] if contender.simd else []
    for threads, target in sets:
        options = [
            *_library_of(contender),
            "--threads",
            threads,
            "--dump",
            str(tmp_path),
            *(("--simd", target) if target else ()),
        ]
        command = [*worker_command(found, contender.name, found.study.point(point)), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if contender.kind == "peer" and done.returncode == 1 and "wrong result" in done.stderr:
            pytest.xfail(f"the library is wrong, which its row says: {done.stderr.strip()}")
        assert done.returncode == 0, (target, done.stderr)
        told = json.loads(done.stdout)
        assert told["verified"] is True and told["seconds"] > 0 and told["items"] > 0
        if contender.kind == "variant":
            _assert_right(found, point, tmp_path)


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_inputs_vary_and_follow_the_seed_alone(found: Found, tmp_path: Path) -> None:
    point = found.study.test_points[-1]
    seen = []
    for seed, threads in (("1", "1"), ("1", "3"), ("2", "1")):
        done = _worker(found, _plain(found), point, "--seed", seed, "--threads", threads, "--dump", str(tmp_path))
        assert done.returncode == 0, done.stderr
        seen.append(_load(tmp_path))
    inputs = seen[0].keys() - found.study.reference(seen[0], found.study.point(point)).keys()
    assert inputs
    for name in inputs:
        assert len(np.unique(seen[0][name])) > 10
        np.testing.assert_array_equal(seen[0][name], seen[1][name])
        assert (seen[0][name] != seen[2][name]).any()


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_the_check_notices_one_wrong_element(found: Found, tmp_path: Path) -> None:
    point = found.study.test_points[-1]
    done = _worker(found, _plain(found), point, "--dump", str(tmp_path))
    arrays = _load(tmp_path)
    for name in found.study.reference(arrays, found.study.point(point)):
        for index in (0, arrays[name].size // 2, arrays[name].size - 1):
            done = _worker(found, _plain(found), point, "--corrupt", f"{name}:{index}")
            assert done.returncode == 1
            assert '"verified": false' in done.stdout
            assert "seconds" not in done.stdout
            assert "wrong result" in done.stderr


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_work_grows_with_the_size(found: Found) -> None:
    items = [
        json.loads(_worker(found, _plain(found), point).stdout)["items"]
        for point in (found.study.test_points[0], found.study.test_points[-1])
    ]
    assert items[0] < items[1]


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_peers_are_right_or_say_why_they_do_not_run(found: Found) -> None:
    point = found.study.point(found.study.test_points[-1])
    peers = script_contenders(found, point)
    native = None
    for peer in peers:
        if peer.not_run is not None:
            assert len(peer.not_run) > 10
            continue
        native = native or json.loads(_worker(found, _plain(found), point).stdout)
        environment = {**_environment(peer), "OMP_NUM_THREADS": "2"}
        done = subprocess.run(peer.command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["verified"] is True and told["items"] == native["items"]


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_a_tune_has_axes_for_its_knobs_and_they_are_none_of_its_own(found: Found) -> None:
    command, tries = tunable_command(found.study.name, [])
    assert tries.keys().isdisjoint(AXES)
    assert {word for given in command for word in re.findall(r"\{(\w+)\}", given)} == tries.keys()
    assert all(len(values) > 1 for values in tries.values())
    # it starts from the study's own choice, so that has to have a value
    assert all(knob.default for knob in found.study.knobs if knob.tries)


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_a_library_is_right_somewhere(found: Found) -> None:
    points = [p for p in found.study.test_points if found.study.select is None]
    for peer in native_contenders(found, {}):
        if peer.kind == "peer" and peer.not_run is None and points:
            words = (_worker_with(found, peer, point) for point in points)
            assert any(done.returncode == 0 for done in words), peer.name


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_the_commands_in_its_page_can_be_given(found: Found) -> None:
    lines = (found.folder / "README.md").read_text().splitlines()
    told = [shlex.split(line, comments=True) for line in lines if line.startswith("    nodewise study ")]
    assert told
    for words in told:
        given = study_command.make_context("study", words[2:]).params
        named = find_study(given["name"]).study
        knobs = parse_knobs(split_knobs(given["knob_words"]))
        if not knobs.keys() & named.uses.keys():
            named.point(knobs)


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_bad_arguments_are_one_clear_message(found: Found) -> None:
    for arguments in (["--variant", "none-such"], ["--variant"], [], ["--wings"], ["--variant", "x", "--threads", "0"]):
        done = subprocess.run(
            [worker_command(found, "x", {})[0], str(found.binary), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (1, 2)
        assert done.stderr.startswith("nodewise-worker: ") and len(done.stderr.splitlines()) == 1
    with pytest.raises(InputError, match="knob"):
        found.study.point({"none-such": "1"})


@pytest.mark.parametrize("found", STUDIES, ids=lambda f: f.study.name)
def test_files_for_an_instruction_set_define_no_shared_symbols(found: Found, tmp_path: Path) -> None:
    # such a symbol may be the copy that the linker keeps for code that runs on older processors
    flags = {"avx2": ["-mavx2", "-mfma"], "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"]}
    for source in found.folder.glob("*.*.cpp"):
        parts = [flag for part in source.stem.split(".")[1:] for flag in flags.get(part, [])]
        if not parts:
            continue
        out = tmp_path / f"{source.stem}.o"
        include = Path(__file__).parents[2] / "native"
        compiler = ["g++", "-std=c++20", "-O0", "-fopenmp", f"-I{include}", f"-I{found.folder}", *parts]
        subprocess.run([*compiler, "-c", str(source), "-o", str(out)], check=True)
        symbols = subprocess.run(["nm", str(out)], capture_output=True, text=True, check=True).stdout
        assert not [line for line in symbols.splitlines() if line.split()[-2] in "WVu"]
