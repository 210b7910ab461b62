# SPDX-License-Identifier: BSD-3-Clause
"""What would spoil a profile is named before the run; and the Python that really runs is found through what stands before it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.profile import traps as module
from nodewise.profile.interpreter import Python, find_py_spy, python_of
from nodewise.profile.target import python_environment
from nodewise.profile.traps import traps

ALL = (1 << 41) - 1


def _root(folder: Path, paranoid: int = 1, scope: int | None = 0, capabilities: int = 0) -> Path:
    root = folder / "root"
    (root / "proc/sys/kernel/yama").mkdir(parents=True)
    (root / "proc/self").mkdir()
    (root / "proc/sys/kernel/perf_event_paranoid").write_text(f"{paranoid}\n")
    if scope is not None:
        (root / "proc/sys/kernel/yama/ptrace_scope").write_text(f"{scope}\n")
    (root / "proc/self/status").write_text(f"Name:\tx\nCapEff:\t{capabilities:016x}\n")
    return root


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    (folder / "x.c").write_text("int main(void) { return 0; }\n")
    for name, flags in (("plain", []), ("stripped", ["-s"]), ("static", ["-static"]), ("both", ["-static", "-s"])):
        subprocess.run(["cc", *flags, "x.c", "-o", name], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plain", None),
        ("stripped", "is stripped: of its"),
        ("static", "is static: lib"),
        ("both", "stripped and static"),
    ],
)
def test_what_a_programs_file_lacks_is_named(built: Path, tmp_path: Path, name: str, said: str | None) -> None:
    found = traps(built / name, tmp_path, {}, [name], root=_root(tmp_path))
    assert (found == []) if said is None else (len(found) == 1 and said in found[0] and found[0].startswith(name))


def test_a_folder_without_mmap_is_named(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(19, "No such device")

    root = _root(tmp_path)
    assert traps(built / "plain", tmp_path, {}, ["plain"], root=root) == []
    # one that is still to be made is on the filesystem of what it will be in
    assert traps(built / "plain", tmp_path / "new/one", {}, ["plain"], root=root) == []
    monkeypatch.setattr(module.mmap, "mmap", refused)
    monkeypatch.setattr(module, "read_sections", lambda _: [".symtab", ".dynsym"])
    [said] = traps(built / "plain", tmp_path, {}, ["plain"], root=root)
    assert "cannot be mapped" in said and "--out" in said and str(tmp_path) in said
    # such as /proc, where nothing can be made at all
    assert any("/proc cannot be mapped" in t for t in traps(built / "plain", Path("/proc"), {}, ["plain"], root=root))


def test_other_preloads_are_named(built: Path, tmp_path: Path) -> None:
    [said] = traps(built / "plain", tmp_path, {"LD_PRELOAD": "libdarshan.so"}, ["plain"], root=_root(tmp_path))
    assert said.endswith("libdarshan.so")


def test_aprun_is_told_not_to_fork(built: Path, tmp_path: Path) -> None:
    root = _root(tmp_path)
    words = ["/opt/cray/aprun", "-n", "2", "plain"]
    assert any("PMI_NO_FORK=1" in t for t in traps(built / "plain", tmp_path, {}, words, root=root))
    assert traps(built / "plain", tmp_path, {"PMI_NO_FORK": "1"}, words, root=root) == []
    assert traps(built / "plain", tmp_path, {}, ["mpirun", "plain"], root=root) == []


@pytest.mark.parametrize(
    ("paranoid", "capabilities", "named"),
    [(1, 0, False), (2, 0, True), (4, 0, True), (2, 1 << 38, False), (3, ALL, False)],
)
def test_what_perf_may_not_see_is_named(
    built: Path, tmp_path: Path, paranoid: int, capabilities: int, named: bool
) -> None:
    found = traps(built / "plain", tmp_path, {}, ["x"], root=_root(tmp_path, paranoid, 0, capabilities))
    assert [f"perf_event_paranoid is {paranoid}" in t for t in found] == [True] * named


@pytest.mark.parametrize(
    ("scope", "capabilities", "said"),
    [
        (None, 0, ""),
        (1, 0, ""),
        (2, 0, "sysctl kernel.yama.ptrace_scope=1"),
        (3, 0, "only a restart"),
        (2, 1 << 19, ""),
    ],
)
def test_rights_that_py_spy_lacks_are_named(
    built: Path, tmp_path: Path, scope: int | None, capabilities: int, said: str
) -> None:
    root = _root(tmp_path, 2, scope, capabilities)
    found = traps(built / "plain", tmp_path, {}, ["x"], Python("python3", (3, 11)), True, root)
    assert [said in t for t in found] == [True] * bool(said)
    # perf needs no such right
    assert not any("ptrace" in t for t in traps(built / "plain", tmp_path, {}, ["x"], root=root))


def test_a_python_that_shows_perf_nothing_is_named_unless_py_spy_records_it(tmp_path: Path) -> None:
    root, file = _root(tmp_path), Path(sys.executable)
    [said] = traps(file, tmp_path, {}, ["python"], Python("python", (3, 11)), root=root)
    assert "Python 3.11" in said and "py-spy" in said
    assert traps(file, tmp_path, {}, ["python"], Python("python", (3, 11)), True, root) == []
    assert traps(file, tmp_path, {}, ["python"], Python("python", (3, 12)), root=root) == []
    assert "pip install py-spy" in said and "Python 3.12 or newer" in said
    # it is installed, and an option asks for what only perf does
    [said] = traps(file, tmp_path, {}, ["python"], Python("python", (3, 11)), False, root, True)
    assert "pip install" not in said and "without --off-cpu" in said


def test_a_new_python_without_frame_pointers_shows_perf_nothing_either(tmp_path: Path) -> None:
    python = Python("python", (3, 13), frame_pointers=False)
    [said] = traps(Path(sys.executable), tmp_path, {}, ["python"], python, root=_root(tmp_path))
    assert "Python 3.13" in said and "compiled without frame pointers" in said and "3.12 or newer" not in said
    assert python_environment(python, {}) == {}
    assert python_environment(Python("python", (3, 12)), {}) == {"PYTHONPERFSUPPORT": "1"}


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_python_is_seen_through_what_stands_before_it(tmp_path: Path) -> None:
    real = sys.executable
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(real)
    (tmp_path / "python9.9").symlink_to(real)
    env = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(tmp_path)}
    script = _program(tmp_path / "tool", f"#!{real}\nprint(1)\n")
    by_env = _program(tmp_path / "tool2", "#!/usr/bin/env -S python3 -u\nprint(1)\n")
    plain_env = _program(tmp_path / "tool3", "#!/usr/bin/env python3\nprint(1)\n")
    long_path = _program(tmp_path / "tool4", f"#!/bin/sh\n'''exec' \"{real}\" \"$0\" \"$@\"\n' '''\nprint(1)\n")
    wrapper = _program(tmp_path / "tool5", '#!/bin/sh\nset -e\nexport A=1\nexec python3 -m tool "$@"\n')
    pyenv = _program(tmp_path / "pyenv/bin/pyenv", f'#!/bin/sh\n[ "$1 $2" = "which python3.13" ] && echo {real}\n')
    shim = f'#!/usr/bin/env bash\nset -e\nprogram="${{0##*/}}"\nexec "{pyenv}" exec "$program" "$@"\n'
    tool_shim = _program(tmp_path / "shims/python3.13x", shim)
    pyenv.write_text(f'#!/bin/sh\n[ "$1 $2" = "which python3.13x" ] && echo {real}\n')
    # a shim that is named as Python is asked itself
    asked = _program(tmp_path / "shims/python3.13", f'#!/bin/sh\nexec {real} "$@"\n')
    version = tuple(sys.version_info[:2])
    for words in (
        [real, "x.py"],
        ["python3", "x.py"],
        [str(tmp_path / "python9.9"), "x.py"],
        ["env", "A=1", "-u", "B", "python3", "x.py"],
        ["env", "-S", "A=1 python3 -u", "x.py"],
        *([str(p), "arg"] for p in (script, by_env, plain_env, long_path, wrapper, tool_shim, asked)),
    ):
        found = python_of(words, env)
        assert found is not None and found.version == version, words
        assert found.shows_perf == (version >= (3, 12) and found.frame_pointers)
    loop = _program(tmp_path / "loop", f"#!{tmp_path}/loop\n")
    for none in (
        ["true"],
        ["no-such"],
        ["env"],
        [],
        [str(loop)],
        ["sh", "-c", "python3"],
        [str(_program(tmp_path / "s", "#!/bin/sh\necho 1\n"))],
    ):
        assert python_of(none, env) is None, none


def test_py_spy_is_found_on_path_and_beside_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = _program(tmp_path / "bin/py-spy", "#!/bin/sh\n")
    assert find_py_spy({"PATH": str(tmp_path / "bin")}) == str(there)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "other/python"))
    assert find_py_spy({"PATH": "/proc/gone"}) is None
    shutil.copy(there, _program(tmp_path / "other/py-spy", ""))
    assert find_py_spy({"PATH": "/proc/gone"}) == str(tmp_path / "other/py-spy")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["/usr/bin/node", "a.js"], "--perf-basic-prof"),
        (["node", "--perf-basic-prof", "a.js"], None),
        (["java", "-cp", ".", "Prime"], "-XX:+DumpPerfMapAtExit"),
        (["./node-app"], None),
    ],
)
def test_names_of_functions_that_are_compiled_while_a_program_runs_are_asked_for(
    command: list[str], said: str | None, tmp_path: Path
) -> None:
    found = [one for one in traps(tmp_path / "no-elf", tmp_path, {}, command) if "compiles while it runs" in one]
    assert (said in found[0]) if said else found == []
