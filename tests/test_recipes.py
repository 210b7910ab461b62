# SPDX-License-Identifier: BSD-3-Clause
"""Recipes of other package managers: what they need is what the project needs, and their own linters find nothing."""

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
SPACK = PACKAGING / "spack/packages/nodewise/package.py"
(EASYBUILD,) = PACKAGING.glob("easybuild/*.eb")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]


def _spack_needs() -> set[str]:
    """What `depends_on` names."""
    calls = [node for node in ast.walk(ast.parse(SPACK.read_text())) if isinstance(node, ast.Call)]
    named = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "depends_on"]
    return {ast.literal_eval(c.args[0]) for c in named}


def test_spack_needs_what_the_project_needs() -> None:
    assert f'version("{PROJECT["version"]}")' in SPACK.read_text()
    needs = _spack_needs()
    for one in [*PROJECT["dependencies"], *BUILD]:
        name, _, least = one.partition(">=")
        assert f"py-{name}@{least}:" in needs, one
    for name, least in re.findall(
        r"pkg_check_modules\(\w+ .*?(\w+)>=([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text()
    ):
        assert f"{name}@{least}:" in needs
    assert f"python@{PROJECT['requires-python'].removeprefix('>=')}:" in needs


def test_easybuild_builds_this_version_of_what_it_names() -> None:
    values: dict[str, object] = {}
    exec(compile(EASYBUILD.read_text(), EASYBUILD.name, "exec"), values)
    toolchain = values["toolchain"]
    assert isinstance(toolchain, dict)
    assert EASYBUILD.name == f"{values['name']}-{values['version']}-{toolchain['name']}-{toolchain['version']}.eb"
    assert values["version"] == PROJECT["version"]


@pytest.mark.parametrize("recipe", ["packaging/Dockerfile", "packaging/nodewise.def"])
def test_images_install_what_the_wheels_are(recipe: str) -> None:
    text = (ROOT / recipe).read_text()
    assert "build/wheels" in text and "pip install --no-cache-dir /wheels/*.whl" in text


def test_spack_itself_finds_nothing_wrong() -> None:
    if (spack := shutil.which("spack")) is None:
        pytest.skip("Spack is not here: clone its repository, and put its bin on PATH")
    words = [spack, "-C", str(PACKAGING / "spack"), "style", "--no-black", str(SPACK)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_easybuild_itself_finds_nothing_wrong() -> None:
    style = pytest.importorskip(
        "easybuild.framework.easyconfig.style", reason="EasyBuild is not here: pip install easybuild-framework"
    )
    pytest.importorskip(
        "pycodestyle", reason="pycodestyle is not here, by which EasyBuild checks: pip install pycodestyle"
    )
    assert style.check_easyconfigs_style([str(EASYBUILD)]) == 0


def test_docker_itself_finds_nothing_wrong() -> None:
    if (lint := shutil.which("hadolint")) is None:
        pytest.skip("hadolint is not here, which checks a Dockerfile")
    # versions of Debian's packages are those of its release
    words = [lint, "--ignore", "DL3008", "--ignore", "DL3013", str(PACKAGING / "Dockerfile")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout


def test_the_apptainer_recipe_has_sections_that_are_known() -> None:
    text = (PACKAGING / "nodewise.def").read_text()
    sections = re.findall(r"^%(\w+)", text, re.MULTILINE)
    assert (
        {"files", "post", "runscript"}
        <= set(sections)
        <= {"files", "post", "environment", "runscript", "labels", "help", "test"}
    )
    for name in ("post", "environment", "runscript"):
        body = re.split(r"^%\w+.*$", text.split(f"%{name}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
        done = subprocess.run(["sh", "-n"], input=body, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
