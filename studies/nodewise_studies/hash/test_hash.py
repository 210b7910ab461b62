# SPDX-License-Identifier: BSD-3-Clause
"""Digests of random lengths against hashlib, files against md5sum, and the figures of producers and consumer."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodewise.studies.commands import native_contenders, simd_targets, worker_command
from nodewise.studies.discovery import find_study, program_of
from tests.compiled import compiled
from tests.examples import examples
from tests.made_once import made_once
from tests.started import started

HASH = find_study("hash")
FUNCTIONS = ("md5", "sha1", "sha256", "sha512")


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    function=st.sampled_from(FUNCTIONS),
    lengths=st.lists(st.one_of(st.integers(0, 300), st.integers(0, 9000)), max_size=90),
    threads=st.integers(1, 3),
)
def test_files_of_any_lengths_have_the_digests_of_hashlib(
    tmp_path: Path, function: str, lengths: list[int], threads: int
) -> None:
    # the examples share a folder
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    want = ""
    for i, length in enumerate(lengths):
        text = hashlib.shake_128(f"{i} {length}".encode()).digest(length)
        path = folder / f"{i:04}"
        path.write_bytes(text)
        want += f"{hashlib.new(function, text, usedforsecurity=False).hexdigest()}  {path}\n"
    done = _program("--function", function, f"--threads={threads}", str(folder))
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, want, b"")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("target", simd_targets(HASH))
def test_every_length_up_to_three_blocks_is_right_on_every_instruction_set(function: str, target: str) -> None:
    size = 3 * 128 + 1
    knobs = {"function": function, "chunk-size": str(size), "total-size": str(size * (size + 1)), "lengths": "each"}
    for variant in ("lanes", "best"):
        command = [*worker_command(HASH, variant, HASH.study.point(knobs)), "--threads", "1", "--simd", target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


_LIBRARY = "libisal_crypto.so.2"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("-DWITH_STATUS",), id="new names"),
        pytest.param((), id="old names", marks=pytest.mark.long),
    ],
)
def stand_in(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the interface of isa-l_crypto, which no package has: the real one is not run here."""

    def made(folder: Path) -> None:
        _stand_in(folder, *request.param)

    return made_once(tmp_path_factory, f"isal{''.join(request.param)}", made) / _LIBRARY


def _stand_in(folder: Path, *options: str) -> Path:
    library = folder / _LIBRARY
    sources = [HASH.folder / "stand_in" / "isal_crypto.cpp", HASH.folder / "manager.cpp", HASH.folder / "plain.cpp"]
    return compiled(sources, library, "-O1", "-shared", "-fPIC", *options)


def _with_library(library: Path, threads: str, **knobs: str) -> subprocess.CompletedProcess[str]:
    command = worker_command(HASH, "isal_crypto", HASH.study.point({k.replace("_", "-"): v for k, v in knobs.items()}))
    command += ["--library", str(library), "--threads", threads, "--repeat", "2"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_isal_crypto_is_asked_as_its_interface_has_it(stand_in: Path, function: str) -> None:
    for threads, count in (("1", 200), ("3", 77), ("5", 2)):
        done = _with_library(
            stand_in, threads, function=function, lengths="mixed", chunk_size="700", total_size=str(700 * count)
        )
        assert done.returncode == 0 and '"verified":true' in done.stdout.replace(" ", ""), done.stderr


@pytest.mark.long
def test_isal_crypto_is_given_long_buffers_in_pieces(stand_in: Path) -> None:
    done = _with_library(stand_in, "1", function="sha1", chunk_size=str(2**26 + 100), total_size=str(2**26 + 777))
    assert done.returncode == 0, done.stderr


def test_isal_crypto_that_refuses_or_lacks_a_function_is_one_clear_message(tmp_path: Path) -> None:
    done = _with_library(_stand_in(tmp_path, "-DREFUSE"), "2", function="md5")
    assert done.returncode == 1 and "isa-l_crypto refuses md5, error -1" in done.stderr
    (tmp_path / "empty.cpp").touch()
    subprocess.run(["g++", "-shared", tmp_path / "empty.cpp", "-o", tmp_path / "empty.so"], check=True)
    done = _with_library(tmp_path / "empty.so", "1", function="md5")
    assert done.returncode == 1 and "no multi-buffer md5" in done.stderr


def test_without_isal_crypto_its_row_says_what_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodewise.studies.libraries._system_libraries", dict)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    rows = {c.name: c.not_run for c in native_contenders(HASH, {})}
    assert "spack install isa-l-crypto" in str(rows["isal_crypto"])
    (tmp_path / "libisal_crypto.so.2").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert {c.name: c.not_run for c in native_contenders(HASH, {})}["isal_crypto"] is None


def _program(*arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([program_of(HASH.folder), *arguments], capture_output=True, check=False)


def _run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    done = started("study", "hash", *arguments)
    out, err = (text.encode(errors="surrogateescape") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


@pytest.mark.some(2)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_program_prints_what_the_systems_own_prints(tmp_path: Path, function: str) -> None:
    for name, size in (("empty", 0), ("a b", 55), ("back\\slash", 64), ("new\nline", 1000), ("five", 5 << 20)):
        (tmp_path / name).write_bytes(os.urandom(size))
    (tmp_path / "sub").mkdir()
    for i in range(400):
        (tmp_path / "sub" / f"{i:04}").write_bytes(b"x" * (i * 29 % 3001))
    names = sorted(str(p) for p in tmp_path.rglob("*") if p.is_file())
    want = subprocess.run([f"{function}sum", *names], capture_output=True, check=True).stdout
    for threads in ("1", "2"):
        given = [word for name in names for word in ("--files", name)]
        assert _run("--function", function, "--threads", threads, *given).stdout == want
    assert _run("--function", function, "--files", str(tmp_path)).stdout == want


def test_what_cannot_be_read_is_named_and_the_others_are_printed(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"abc")
    given = [str(tmp_path / "missing"), str(tmp_path / "there")]
    ours, theirs = (
        _run("--function", "md5", "--files", given[0], "--files", given[1]),
        subprocess.run(["md5sum", *given], capture_output=True, check=False),
    )
    assert ours.returncode == theirs.returncode == 1
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr


def test_bad_words_are_one_clear_message(tmp_path: Path) -> None:
    def told(done: subprocess.CompletedProcess[bytes], said: bytes) -> None:
        assert done.returncode == 2 and done.stdout == b"" and b"Traceback" not in done.stderr
        assert done.stderr.startswith(b"error: ") and said in done.stderr and b"\n\nhint: " in done.stderr

    told(_run("--files", str(tmp_path), "--wings", "2"), b"--files and --function alone")
    told(_run("--files", "@/proc/gone"), b"the list /proc/gone cannot be read: No such file or directory")
    told(_run("--files", "x", "--function", "md4"), b"there is no function md4")
    told(_program(), b"no files are named")
    told(_program("x", "--wings"), b"no such option: --wings")
    told(_program("x", "--function"), b"--function needs a value")
    told(_program(b"@" + os.fsencode(tmp_path)), b"cannot be read: Is a directory")
    for number in ("0", "-1", "1025", "9" * 400, "2x", ""):
        told(_program("x", f"--threads={number}"), b"is no number of threads")


def test_names_of_all_bytes_lists_links_and_folders_are_taken_as_they_are(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    names = [b"\xff", b"-c", b"@at", b" ", b"a\rb", b"--", "\u00e9".encode()]
    for name in names:
        (inner / os.fsdecode(name)).write_bytes(name)
    (inner / "link").symlink_to("nothing")
    (inner / "round").symlink_to(tmp_path)
    for words in ([str(inner)], [f"{inner}/"], ["--", str(inner)]):
        done = _program("--function=md5", *words)
        folder = os.fsencode(str(inner))
        want = subprocess.run(
            ["md5sum", "--", *sorted(folder + b"/" + n for n in names)], capture_output=True, check=True
        )
        assert (done.returncode, done.stdout) == (0, want.stdout)
    for end in (b"\n", b"\0"):
        chosen = [n for n in names if end == b"\0" or b"\n" not in n]
        (tmp_path / "list").write_bytes(end.join(folder + b"/" + n for n in chosen))
        done = _program("--function=md5", f"@{tmp_path}/list")
        want = subprocess.run(["md5sum", "--", *(folder + b"/" + n for n in chosen)], capture_output=True, check=True)
        assert done.stdout == want.stdout
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([program_of(HASH.folder), str(inner)], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and done.stderr == b"sha256sum: write error: No space left on device\n"


@pytest.mark.long
def test_hashing_files_does_not_wait_for_what_only_measuring_needs(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    program = (
        "import sys; from nodewise.cli.main import main\n"
        f"try: main(['study', 'hash', '--files', {str(tmp_path)!r}])\n"
        "except SystemExit: pass\n"
        "print({'numpy', 'rich', 'subprocess', 'nodewise.experiments.study', 'nodewise.runner.local'} & sys.modules.keys())"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [f"{hashlib.sha256(b'abc').hexdigest()}  {tmp_path}/a", "set()"]


def test_a_file_that_says_it_is_empty_is_read_to_its_end() -> None:
    status = "/proc/self/mountinfo"
    assert _run("--files", status).stdout.split()[0] != hashlib.sha256(b"").hexdigest().encode()


@pytest.mark.parametrize("producers", ["1", "2", "16"])
def test_the_consumer_says_how_busy_it_was(producers: str) -> None:
    knobs = {"producers": producers, "speed": "200MB", "total-size": str(2**22), "chunk-size": str(2**17)}
    command = worker_command(HASH, "pipeline", HASH.study.point(knobs))
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert answer["verified"] is True
    assert 0 < answer["consumer_usage_percent"] <= 100
    assert answer["hash_mb_per_s"] == pytest.approx(answer["hash_mib_per_s"] * 1.048576)
    # 4 MiB at 200 MiB/s each take at least so long
    assert answer["elapsed_s"] > 4 / 200 / int(producers) * 0.9


def test_the_answer_says_how_the_consumer_kept_up() -> None:
    seen = {"elapsed_s": 2.603, "consumer_usage_percent": 42.0, "hash_mb_per_s": 981.7, "hash_mib_per_s": 936.2}
    row = {"contender": "pipeline", "threads": 1, "point": {"producers": "16"}, "metrics": seen}
    others = [{"contender": "best", "threads": 1, "point": {}, "metrics": {}}, {**row, "metrics": {}}]
    assert HASH.study.report is not None
    (line,) = HASH.study.report({"rows": [row, *others]})
    assert "16 filling: elapsed 2.6 s, consumer 42.0% busy (it kept up), 981.7 MB/s (936.2 MiB/s)" in line
    assert "the bound" in HASH.study.report({"rows": [{**row, "metrics": {**seen, "consumer_usage_percent": 99.9}}]})[0]
