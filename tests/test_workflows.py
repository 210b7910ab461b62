# SPDX-License-Identifier: BSD-3-Clause
"""The GitHub workflow and the GitLab job of docs/how-to/ci.md, run step by step as their runners would, in a scratch project.

What a runner does by itself (checking out, the variables that it sets) is done here; installing is replaced by the nodewise of this environment, and
the budget by a shorter one.
"""

import os
import re
import subprocess
import sysconfig
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

PAGE = (Path(__file__).parent.parent / "docs/how-to/ci.md").read_text()
BLOCKS = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)]
MAKEFILE = "bench: bench.in\n\tcp bench.in bench && chmod +x bench\n"
#: A benchmark that says how long it took.
BENCH = '#!/bin/sh\necho \'{{"nodewise": 1, "seconds": {seconds}, "verified": true}}\'\n'

#: One that is as fast takes until its budget ends.
CASES = [pytest.param(1.00123, 0, id="as fast", marks=pytest.mark.long), pytest.param(1.20123, 1, id="slower")]


def _git(folder: Path, *words: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *settings, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _project(folder: Path, change_s: float) -> tuple[str, str]:
    """A repository with a commit of the base and one of the change; their names."""
    folder.mkdir()
    _git(folder, "init", "-q")
    commits = []
    (folder / "Makefile").write_text(MAKEFILE)
    for seconds in (1.00123, change_s):
        (folder / "bench.in").write_text(BENCH.format(seconds=seconds))
        _git(folder, "add", "-A")
        _git(folder, "commit", "-q", "--allow-empty", "-m", "state")
        commits.append(_git(folder, "rev-parse", "HEAD"))
    return commits[0], commits[1]


def _shell(line: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A step as runners start it: `bash -e`; `pip install` is what this environment is."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    line = re.sub(r'^pip install "\$WHEELS"/nodewise-\*\.whl$', "nodewise --version", line.strip())
    line = line.replace("--budget 5min", "--budget 8s --accept-disturbed")
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", line],
        cwd=folder,
        env={**own, "PATH": path, "NODEWISE_HISTORY": "off", "CI": "true", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def _github() -> dict[str, Any]:
    return next(block for block in BLOCKS if "jobs" in block)


@pytest.mark.parametrize(("change_s", "code"), CASES)
def test_the_workflow_of_github_says_whether_a_change_is_slower(change_s: float, code: int, tmp_path: Path) -> None:
    base, change = _project(tmp_path / "origin", change_s)
    workspace, summary = tmp_path / "workspace", tmp_path / "summary.md"
    workspace.mkdir()
    (job,) = _github()["jobs"].values()
    codes, said = [], ""
    for step in job["steps"]:
        assert step.keys() <= {"uses", "with", "run", "if"}
        if "uses" in step:
            assert step["uses"].startswith("actions/checkout@")
            with_ = step["with"]
            # without a ref it is the change's
            assert with_.get("ref", "") in ("", "${{ github.base_ref }}")
            _git(tmp_path, "clone", "-q", str(tmp_path / "origin"), str(workspace / with_["path"]))
            _git(workspace / with_["path"], "checkout", "-q", base if "ref" in with_ else change)
            continue
        if any(codes) and "if" not in step:
            continue
        done = _shell(step["run"], workspace, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
        codes.append(done.returncode)
        said += done.stdout
        assert done.returncode in (0, code), done.stderr
    assert max(codes) == code
    # on a busy machine it may stay open, which fails nothing
    levels = ("error",) if code else ("notice", "warning")
    assert any(f"\n::{level} title=change::" in said for level in levels), said
    assert "| `base` |" in summary.read_text() and "| `change` |" in summary.read_text()


@pytest.mark.long
@pytest.mark.parametrize(("change_s", "code"), CASES)
def test_the_job_of_gitlab_says_whether_a_change_is_slower(change_s: float, code: int, tmp_path: Path) -> None:
    base, _ = _project(tmp_path / "project", change_s)
    (job,) = next(block for block in BLOCKS if "jobs" not in block).values()
    codes = []
    for line in job["script"]:
        if any(codes):
            break
        done = _shell(line, tmp_path / "project", {"CI_MERGE_REQUEST_TARGET_BRANCH_SHA": base})
        codes.append(done.returncode)
        assert done.returncode in (0, code), done.stderr
    assert max(codes) == code
    artifacts = job["artifacts"]
    suite = ET.parse(tmp_path / "project" / artifacts["reports"]["junit"]).getroot()
    assert (suite.get("failures"), suite.get("tests")) == (str(int(code == 1)), "2")
    assert all((tmp_path / "project" / path).exists() for path in artifacts["paths"])


def test_what_json_prints_is_json_next_to_annotations(tmp_path: Path) -> None:
    line = "nodewise compare --ci github --json --budget 5min -r 6 'echo a' 'echo b' >out.json"
    done = _shell(line, tmp_path, {"GITHUB_STEP_SUMMARY": str(tmp_path / "none/summary.md")})
    assert (tmp_path / "out.json").read_text().startswith("{")
    assert "::notice" in done.stderr or "::warning" in done.stderr or "::error" in done.stderr
    assert done.returncode == 2 and "cannot write" in done.stderr and "Traceback" not in done.stderr
