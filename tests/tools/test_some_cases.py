# SPDX-License-Identifier: BSD-3-Clause
"""Which of a test's many cases are for each change."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.some_cases import chosen

ROOT = Path(__file__).parent.parent.parent

TESTS = """
import pytest
@pytest.mark.some(3)
@pytest.mark.parametrize("n", [*range(5), pytest.param(5, marks=pytest.mark.long)])
def test_many(n): pass
@pytest.mark.some(4)
@pytest.mark.parametrize("n", range(2))
def test_few(n): pass
@pytest.mark.parametrize("n", range(3))
def test_all(n): pass
"""


@pytest.mark.parametrize(
    ("count", "some", "kept"),
    [(10, 4, {0, 3, 6, 9}), (3, 5, {0, 1, 2}), (3, 3, {0, 1, 2}), (7, 2, {0, 6}), (100, 3, {0, 50, 99})],
)
def test_cases_lie_evenly_with_the_first_and_the_last(count: int, some: int, kept: set[int]) -> None:
    assert chosen([{"n": n} for n in range(count)], some) == kept


def test_each_value_of_a_parameter_of_few_is_met() -> None:
    even = chosen([{"long": n // 4, "short": n % 4} for n in range(17)], 5)
    assert even == {0, 4, 8, 12, 16, 1, 2, 3}


def test_one_case_is_not_some() -> None:
    with pytest.raises(ValueError, match="two at least"):
        chosen([{"n": 0}, {"n": 1}], 1)


def test_some_of_a_tests_cases_are_left_and_all_of_others(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nimport pytest\nfrom tests.some_cases import leave_some\n"
        "@pytest.hookimpl(tryfirst=True)\ndef pytest_collection_modifyitems(items): leave_some(items)\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    some\n    long\n")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-m", "not long"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    left = [line.partition("::")[2] for line in said.splitlines() if "::" in line]
    assert left == [
        "test_many[0]", "test_many[2]", "test_many[4]", "test_few[0]", "test_few[1]", "test_all[0]", "test_all[1]", "test_all[2]",
    ]  # fmt: skip
