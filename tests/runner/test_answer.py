# SPDX-License-Identifier: BSD-3-Clause
"""The answer that a run leaves, with real processes: its digest, its text, and that it costs the run nothing."""

import os
import re
import sys
from pathlib import Path

import pytest

from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.runner.same_output import MOST_BYTES, Kind, SameOutput
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting

#: Published results of XXH64 with seed 0.
XXH64 = {
    "": "ef46db3751d8e999",
    "a": "d24ec4f1a98c6e5b",
    "abc": "44bc2cf5ad770999",
    "Nobody inspects the spammish repetition": "fbcea83c8a378bf1",
}


def run(*command: str, rule: SameOutput | None = None, cwd: Path | None = None) -> Sample:
    with LocalLauncher(RunOptions(cwd=cwd, same=rule or SameOutput())) as launcher:
        return launcher.run(Setting(command))


def script(code: str) -> tuple[str, str, str]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize(("text", "digest"), XXH64.items())
def test_the_digest_is_the_published_one(text: str, digest: str) -> None:
    sample = run("printf", "%s", text)
    assert (sample.answer, sample.answer_text) == (digest, text)


def test_the_digest_is_of_the_whole_however_it_is_written() -> None:
    parts = script("import os\nfor i in range(2000): os.write(1, (b'line %d and more\\n' % i)[: 1 + i % 19])")
    whole = script("import os\nos.write(1, b''.join((b'line %d and more\\n' % i)[: 1 + i % 19] for i in range(2000)))")
    assert run(*parts).answer == run(*whole).answer != run("true").answer


@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_of_the_sample_protocol_are_no_answer(end: str) -> None:
    plain = 'one\n\n{"node\n{"other": 1}\ntwo'
    printed = 'one\n\n{"nodewise": 1, "seconds": 0.5}\n{"node\n{"other": 1}\n{"nodewise": 1, "seconds": 0.7}\ntwo'
    sample = run("printf", "%s", printed + end)
    assert sample.seconds == 0.6
    assert sample.answer_text == plain + end
    assert sample.answer == run("printf", "%s", plain + end).answer


def test_a_last_line_of_the_protocol_without_a_line_feed_is_no_answer_either() -> None:
    assert run("printf", "%s", 'a\n{"nodewise": 1, "seconds": 0.5}').answer_text == "a\n"


def test_a_long_output_is_kept_to_a_bound_and_compared_by_its_digest() -> None:
    code = "import sys\nfor i in range({}): sys.stdout.write('x' * 1023 + '\\n')\nprint({})"
    kept = MOST_BYTES // 1024
    with LocalLauncher(RunOptions(same=SameOutput())) as launcher:
        one, other, fits = (
            launcher.run(Setting(script(code.format(*c)))) for c in ((kept, 1), (kept, 2), (kept - 1, 1))
        )
        guard = launcher.process
        server = int(Path(f"/proc/{guard}/task/{guard}/children").read_text())
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server}/status").read_text())
    assert one.answer != other.answer
    assert one.answer_text is None is other.answer_text
    assert fits.answer_text is not None and len(fits.answer_text) == MOST_BYTES - 1024 + 2
    # what the runner holds counts as its programs' memory
    assert peak is not None and int(peak[1]) < 40_000


def test_a_program_finds_nothing_open_that_it_would_not_have() -> None:
    code = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    assert run(*script(code)).answer_text == run(*script(code), rule=SameOutput(Kind.OUTPUT)).answer_text
    with LocalLauncher() as launcher:
        launcher.run(Setting(("sh", "-c", "ls /proc/self/fd > /dev/null")))
    assert len(eval(run(*script(code)).answer_text or "")) == 4


def test_without_a_rule_there_is_no_answer() -> None:
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(("echo", "x")))
    assert (sample.answer, sample.answer_text) == ("", None)
    assert "answer" not in sample.to_json()


def test_a_run_that_fails_has_none() -> None:
    assert run("sh", "-c", "echo x; exit 1").answer == ""


def test_bytes_that_are_no_text_are_distinguished() -> None:
    one, other = (run(*script(f"import os; os.write(1, b'a\\xff{c}')")) for c in ("\\x00", "\\x01"))
    assert one.answer != other.answer
    assert one.answer_text == "a\udcff\0"


def test_a_launcher_that_was_closed_starts_anew() -> None:
    launcher = LocalLauncher(RunOptions(same=SameOutput()))
    first = launcher.run(Setting(("echo", "x")))
    launcher.close()
    assert launcher.run(Setting(("echo", "x"))).answer == first.answer
    launcher.close()


@pytest.mark.parametrize("stream", ["", ">&2"])
def test_a_pattern_finds_its_numbers_wherever_they_are_printed(stream: str) -> None:
    rule = SameOutput(Kind.PATTERN, r"residual: (\S+)")
    line = "echo start $$; echo residual: 1.5e-3 {0}; echo residual: 2 {0}"
    sample = run("sh", "-c", line.format(stream), rule=rule)
    assert sample.answer_text == "1.5e-3\n2"
    assert sample.answer == run("sh", "-c", line.format(stream), rule=rule).answer
    assert "is nowhere in the output" in (run("echo", "x", rule=rule).error or "")


def test_a_pattern_is_found_at_the_end_of_a_very_long_output() -> None:
    code = f"import sys\nsys.stdout.write(('y' * 1023 + '\\n') * {MOST_BYTES // 1024 + 300})\nprint('sum 4.5')"
    assert run(*script(code), rule=SameOutput(Kind.PATTERN, r"sum (\S+)")).answer_text == "4.5"


def test_a_file_is_the_answer(tmp_path: Path) -> None:
    rule = SameOutput(Kind.FILE, "out.dat")
    good = run("sh", "-c", "echo 1.5 > out.dat; echo $$", rule=rule, cwd=tmp_path)
    assert (good.ok, good.answer_text) == (True, "1.5\n")
    again = run("sh", "-c", "echo 1.5 > out.dat", rule=rule, cwd=tmp_path)
    assert again.answer == good.answer
    assert run("sh", "-c", "echo 1.6 > out.dat", rule=rule, cwd=tmp_path).answer != good.answer


def test_a_file_of_an_earlier_run_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    rule = SameOutput(Kind.FILE, "out.dat")
    assert "left no file" in (run("true", rule=rule, cwd=tmp_path).error or "")
    (tmp_path / "out.dat").write_text("1.5\n")
    os.utime(tmp_path / "out.dat", (1e9, 1e9))
    assert "did not write" in (run("true", rule=rule, cwd=tmp_path).error or "")
    assert run("sh", "-c", "echo 1.5 > out.dat", rule=rule, cwd=tmp_path).ok
    # a copy that keeps its old time is written all the same
    assert run("sh", "-c", "echo 1.7 > new; touch -d 2001-01-01 new; mv new out.dat", rule=rule, cwd=tmp_path).ok
    (tmp_path / "folder").mkdir()
    assert "left no file" in (run("true", rule=SameOutput(Kind.FILE, "folder"), cwd=tmp_path).error or "")


def test_a_pattern_is_looked_for_at_the_end_of_a_long_output_too() -> None:
    """What lies between what is kept of the beginning and the end is not."""
    code = (
        "import sys\nfor i in range({}): sys.stdout.write('x' * 1023 + '\\n')\nprint('sum 42')\n" + "print('y' * {})\n"
    )
    rule = SameOutput(Kind.PATTERN, r"sum (\d+)")
    long = MOST_BYTES // 1024 + 200
    assert run(*script(code.format(long, 100)), rule=rule).answer_text == "42"
    missed = run(*script(code.format(long, 200_000)), rule=rule)
    assert missed.error is not None and "nowhere in the output" in missed.error
