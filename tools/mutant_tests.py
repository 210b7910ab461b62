# SPDX-License-Identifier: BSD-3-Clause
"""Tests run in processes that have a broken module: which of them bear on it, and in what order.

The process that forks them has imported all that is not nodewise's own, so that a mutant costs little more than its tests do.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import itertools
import json
import mmap
import os
import re
import resource
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tools import mutants, native_mutants
from tools.mutants import Mutant

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src/nodewise"
#: Where it is kept, file by file, what was noted of the tests unbroken.
NOTES = ROOT / "build/mutants"
NOTICED, MISSED, BROKEN = 1, 0, 2
#: A test that takes so many times what it takes unbroken, and so many seconds more, hangs.
_SLOWER, _LATER_S = 5.0, 10.0
_MOST_BYTES = 6 << 30
#: So long it may take to compile a program, or to find the tests.
_BUILT_S = 90.0
#: So long are tests of other files run, which are not known to come by the broken place.
_REST_S = 0.2
#: After so many calls a test is no longer watched, and taken to come by everything.
_MOST_CALLS = 1_000_000
#: So much is run of a mutant, in processor time that its tests take unbroken and watched: what is noticed later is noticed by
#: chance. Those that come by the broken place have more.
_MOST_S, _MOST_NEAR_S = 30.0, 150.0

#: Put where Python looks first, so that each program of the tests has the broken module, too.
IMPORTER = """
import importlib.abc, importlib.util, os, sys
class Broken(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path=None, target=None):
        if name != os.environ.get("MUTANT_NAME"):
            return None
        own = os.environ["MUTANT_OWN"]
        inside = [os.path.dirname(own)] if own.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(name, own, loader=self, submodule_search_locations=inside)
    def get_source(self, name):
        return open(os.environ["MUTANT_FILE"]).read()
    def get_code(self, name):
        return compile(self.get_source(name), os.environ["MUTANT_OWN"], "exec")
if os.environ.get("MUTANT_NAME"):
    sys.meta_path.insert(0, Broken())
"""


class Known:
    """What was noted of the tests unbroken: seconds, processor time, failures, and which come by a function."""

    def __init__(self, noted: dict[str, Any]):
        self.seconds: dict[str, float] = noted["seconds"]
        self.used: dict[str, float] = noted["used"]
        self.failed: set[str] = set(noted["failed"])
        self._by_test: dict[str, set[str]] = {test: set(places) for test, places in noted["reached"].items()}
        self._everywhere = set(noted["everywhere"])
        self._at_import = set(noted["at_import"])

    def tests(self, path: Path, function: str) -> set[str] | None:
        """Those that come by a function of a file, or None: all of its layer, where that cannot be determined."""
        place = f"{path}:{function}"
        if path.suffix != ".py" or not function or place in self._at_import or "cache" in (SOURCES / path).read_text():
            return None
        found = {test for test, places in self._by_test.items() if place in places}
        # of a class, and of a function in another that is named by another word, nothing was noted
        return found | self._everywhere if found else None


def place_of(code: CodeType) -> str:
    """As Known knows it: file and names, less what is not named."""
    names = [n for n in code.co_qualname.split(".") if not n.startswith("<")]
    return f"{code.co_filename[len(str(SOURCES)) + 1 :]}:{'.'.join(names)}"


class Reached:
    """Notes which functions of nodewise are called, of all threads."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()
        self._calls = 0

    def __enter__(self) -> Reached:
        sys.settrace(self._called)
        threading.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        self._codes.add(frame.f_code)
        # a simulation calls the same again and again
        self._calls += 1
        if self._calls > _MOST_CALLS:
            sys.settrace(None)

    @property
    def cut_off(self) -> bool:
        """Whether there were more calls since it was last asked than it has noted."""
        return self._calls > _MOST_CALLS

    def take(self) -> set[str]:
        """Those since it was last asked."""
        found, self._codes = self._codes, set()
        self._calls = 0
        return {place_of(c) for c in found if c.co_filename.startswith(str(SOURCES))}


class Noting:
    """A plugin of pytest that notes seconds, failures and what tests come by."""

    def __init__(self, noted: Path):
        self._noted = noted
        self._seconds: dict[str, float] = defaultdict(float)
        self._used: dict[str, float] = {}
        self._failed: set[str] = set()
        self._reached: dict[str, set[str]] = defaultdict(set)
        self._of_file: dict[str, set[str]] = defaultdict(set)
        self._programs: set[str] = set()
        self._at_import: set[str] = set()
        self._now = ""
        self._trace = Reached()
        sys.addaudithook(self._heard)
        self._trace.__enter__()

    def _heard(self, event: str, arguments: object) -> None:
        if event in ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec"):
            self._programs.add(self._now)

    def pytest_collection_finish(self) -> None:
        """What was called while tests were found is at work in all of them."""
        self._at_import |= self._trace.take()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Called around each test."""
        self._now = item.nodeid
        before = _used_s()
        self._trace.__enter__()
        try:
            return (yield)
        finally:
            if self._trace.cut_off:
                self._programs.add(item.nodeid)
            self._reached[item.nodeid] |= self._trace.take()
            self._used[item.nodeid] = _used_s() - before
            self._now = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """Called around each fixture: what is made once is at work in all tests of its file."""
        before = self._trace.take()
        self._reached[self._now] |= before
        result = yield
        if fixturedef.scope != "function":
            self._of_file[self._now.partition("::")[0]] |= self._trace.take()
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called for each test's set-up, call and end."""
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Called once."""
        self._trace.__exit__()
        reached = {t: sorted(p | self._of_file[t.partition("::")[0]]) for t, p in self._reached.items() if t}
        noted = {
            "seconds": self._seconds,
            "used": self._used,
            "failed": sorted(self._failed),
            "reached": reached,
            "everywhere": sorted(self._programs - {""}),
            "at_import": sorted(self._at_import),
        }
        self._noted.write_text(json.dumps(noted))


class Notes:
    """What was noted of files of tests when nodewise, they and what they share were as they are now."""

    def __init__(self, files: list[Path]):
        shared = [*sorted(SOURCES.rglob("*.py")), *sorted((ROOT / "tests").rglob("*.py")), Path(__file__)]
        shared = [p for p in shared if not p.name.startswith("test_")]
        state = b"".join(str(p).encode() + p.read_bytes() for p in shared)
        self._kept = {
            p: NOTES / f"{hashlib.sha256(state + p.read_bytes() + str(p).encode()).hexdigest()}" for p in files
        }

    @property
    def missing(self) -> list[Path]:
        """The files of which nothing is known as they are now."""
        return [p for p, kept in self._kept.items() if not kept.exists()]

    def keep(self, noted: dict[str, Any]) -> None:
        """Keep what was noted of those that were missing."""
        NOTES.mkdir(parents=True, exist_ok=True)
        for path in self.missing:
            name = str(path.relative_to(ROOT))
            own = {
                "seconds": _of_file(noted["seconds"], name),
                "used": _of_file(noted["used"], name),
                "reached": _of_file(noted["reached"], name),
                "failed": [t for t in noted["failed"] if t.partition("::")[0] == name],
                "everywhere": [t for t in noted["everywhere"] if t.partition("::")[0] == name],
                "at_import": noted["at_import"],
            }
            self._kept[path].write_text(json.dumps(own))

    def all(self) -> dict[str, Any]:
        """What is known of all of them."""
        every: dict[str, Any] = {
            "seconds": {},
            "used": {},
            "reached": {},
            "failed": [],
            "everywhere": [],
            "at_import": [],
        }
        for kept in self._kept.values():
            one = json.loads(kept.read_text())
            for name, held in every.items():
                every[name] = held | one[name] if isinstance(held, dict) else held + one[name]
        return every


def _used_s() -> float:
    """Processor time of this process and its children so far, which does not grow because others are there."""
    return sum(os.times()[:4])


def _of_file(noted: dict[str, Any], name: str) -> dict[str, Any]:
    return {test: held for test, held in noted.items() if test.partition("::")[0] == name}


class Deadline:
    """Until when a process may go on, which it says itself and its parent sees: alarms are the tests' own."""

    def __init__(self, seconds: float):
        self._shared = mmap.mmap(-1, 8)
        self.set(seconds)

    def set(self, seconds: float) -> None:
        """So many from now on."""
        self._shared[:] = struct.pack("d", time.monotonic() + seconds)

    @property
    def over(self) -> bool:
        """Whether it is past."""
        return bool(struct.unpack("d", self._shared[:])[0] < time.monotonic())


class Choosing:
    """A plugin of pytest that runs the tests that come by a place, the quick ones first, then all others that are quick."""

    def __init__(self, known: Known, chosen: set[str] | None, deadline: Deadline):
        self._known = known
        self._chosen = chosen
        self._deadline = deadline

    def pytest_collection(self) -> None:
        """Called before tests are read: an example that fails is not made smaller."""
        with contextlib.suppress(ImportError):
            from hypothesis import Phase, settings

            settings.register_profile(
                "mutants", derandomize=True, deadline=None, phases=(Phase.explicit, Phase.generate)
            )
            settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Called with all tests of some files."""
        seconds = {i: self._known.used.get(i.nodeid, 0.0) for i in items}
        near = {i for i in items if self._chosen is None or i.nodeid in self._chosen}
        kept = [i for i in items if i.nodeid not in self._known.failed and (i in near or seconds[i] < _REST_S)]
        order = {path: n for n, path in enumerate(dict.fromkeys(i.path for i in items))}
        kept.sort(key=lambda i: (i not in near, seconds[i] > 1.0, order[i.path] > 2, seconds[i]))
        until = itertools.accumulate(seconds[i] for i in kept)
        most = {True: _MOST_NEAR_S if self._chosen is not None else _MOST_S, False: _MOST_S}
        items[:] = [i for i, end in zip(kept, until, strict=True) if end - seconds[i] <= most[i in near]]

    def pytest_runtest_setup(self, item: Any) -> None:
        """A test that takes much longer than it did hangs: then the process is ended, and that is noticed."""
        self._deadline.set(_LATER_S + _SLOWER * self._known.seconds.get(item.nodeid, 0.0))


class Tests:
    """Runs tests in processes forked from this one."""

    def __init__(self, scratch: Path):
        self._scratch = scratch
        self._number = 0

    def unbroken(self, files: list[Path]) -> tuple[Known | None, str]:
        """What is to be known of the tests, or None and what was printed; imports here what they import of others."""
        pid, folder = self._fork(lambda folder: self._modules(files, folder))
        os.waitpid(pid, 0)
        for name in (folder / "modules").read_text().splitlines():
            with contextlib.suppress(BaseException):
                __import__(name)
        assert not any(name.partition(".")[0] == "nodewise" for name in sys.modules), "a mutant would not be seen"
        notes = Notes(files)
        if notes.missing:
            noted = self._scratch / "noted.json"
            pid, folder = self._fork(lambda folder: self._pytest(notes.missing, folder, Noting(noted)))
            os.waitpid(pid, 0)
            if not noted.exists():
                return None, (folder / "out").read_text()
            notes.keep(json.loads(noted.read_text()))
        return Known(notes.all()), ""

    def start(self, known: Known, mutant: Mutant) -> tuple[int, Path, Deadline]:
        """A process that runs a module's tests with that place of it broken; its id, its folder, and until when it may go on."""
        deadline = Deadline(_BUILT_S)

        def run(folder: Path) -> int:
            if mutant.path.suffix == ".py":
                _break_module(mutant, folder)
            elif not _break_program(mutant, folder):
                return BROKEN
            chosen = known.tests(mutant.path, mutant.function)
            for files in filter(None, tests_of(mutant.path)):
                deadline.set(_BUILT_S)
                if self._pytest(files, folder, Choosing(known, chosen, deadline), "-x") == NOTICED:
                    return NOTICED
            return MISSED

        return *self._fork(run), deadline

    @staticmethod
    def _modules(files: list[Path], folder: Path) -> int:
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main([*map(str, files), "--collect-only", "-p", "no:cacheprovider"])
        # all of the checkout is imported anew in each mutant, as it may have imported what is broken
        others = [n for n in sys.modules if not re.match(r"(nodewise|tests|tools|benchmarks|conftest)\b|test_", n)]
        (folder / "modules").write_text("\n".join(others))
        return 0

    @staticmethod
    def _pytest(files: list[Path], folder: Path, plugin: object, *words: str) -> int:
        always = ["-p", "no:cacheprovider", "--tb=short", f"--basetemp={folder}/t", "--rootdir", str(ROOT)]
        done = pytest.main([*map(str, files), *always, *words], plugins=[plugin])
        return MISSED if done in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else NOTICED

    def _fork(self, run: Any) -> tuple[int, Path]:
        self._number += 1
        folder = self._scratch / str(self._number)
        folder.mkdir()
        pid = os.fork()
        if pid:
            return pid, folder
        code = BROKEN
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
            out = os.open(folder / "out", os.O_WRONLY | os.O_CREAT)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.environ["TMPDIR"] = str(folder)
            tempfile.tempdir = None
            code = run(folder)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
            os._exit(code)


def _break_module(mutant: Mutant, folder: Path) -> None:
    """Let the broken source be what is imported from now on, here and in the programs that are started."""
    (folder / "mutant.py").write_text(ast.unparse(mutants.broken(mutant, SOURCES)))
    name = ".".join(("nodewise", *mutant.path.with_suffix("").parts)).removesuffix(".__init__")
    file, own = str(folder / "mutant.py"), str(SOURCES / mutant.path)
    os.environ |= {"MUTANT_NAME": name, "MUTANT_FILE": file, "MUTANT_OWN": own}
    exec(compile(IMPORTER, "importer", "exec"), {})


def _break_program(mutant: Mutant, folder: Path) -> bool:
    """Let the program with the broken source be the one that is started from now on; False where it cannot be compiled."""
    from nodewise.base.native import native_path

    native = native_path(native_mutants.PROGRAM).parent
    made = native_mutants.build(mutant, native_mutants.broken(mutant), native, folder)
    if made is not None:
        os.environ["NODEWISE_NATIVE"] = str(made)
    return made is not None


def tests_of(path: Path) -> tuple[list[Path], list[Path]]:
    """The files of tests that are named after a source or its folder, and the others of its layer, those that import it first.

    Of a native source the others are those that speak of it.
    """
    native = path.suffix != ".py"
    inside = path.relative_to("native") if native else path
    name = inside.stem if native else ".".join(("nodewise", *inside.with_suffix("").parts))
    every = sorted((ROOT / "tests" / inside.parts[0]).rglob("test_*.py"))
    own = [t for t in every if t.stem in (f"test_{inside.stem}", f"test_{inside.parent.name}")]
    rest = sorted((t for t in every if t not in own), key=lambda t: name not in t.read_text())
    return own, [t for t in rest if not native or name in t.read_text()]
