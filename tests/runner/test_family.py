# SPDX-License-Identifier: BSD-3-Clause
"""Launchers of ranks as they are registered: those of the house, and one that a package outside brings."""

import json
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.runner.family import FAMILIES, Family, families, library_family, starters_of
from tests.outside import examples, nodewise_with, package

#: A stand-in for Flux: it starts each task with the variables that the real one sets.
FLUX = """#!/bin/sh
if [ "$1" = --version ]; then printf 'commands:    \\t0.53.0\\nlibflux-core:\\t0.53.0\\n'; exit; fi
[ "$1 $2" = 'run -n' ] || exit 9
ranks=$3; shift 3
case $1 in --tasks-per-node=*) shift;; esac
i=0; while [ $i -lt $ranks ]; do FLUX_TASK_RANK=$i FLUX_TASK_LOCAL_ID=$i "$@" & i=$((i + 1)); done
wait
"""


def family(**others: object) -> Family:
    """One that is as it should be but for what is given."""
    given = {"programs": ("x",), "says": "x", "each": (), "libraries": ("X",), "package": "x", **others}
    return Family(str(given.pop("name", "x")), "X", **given)  # type: ignore[arg-type]


def test_libraries_belong_to_one_family_by_their_names() -> None:
    assert library_family("libmpi.so.40") == library_family("libmpi.so.80") == "Open MPI"
    assert library_family("libmpich.so.12") == library_family("libmpi_cray.so.12") == "MPICH"
    assert library_family("libmpi.so.12") == "Intel MPI"
    assert library_family("libmpifort.so.12") == library_family("libm.so.6") == ""


def test_the_launcher_of_its_own_comes_first() -> None:
    hydra = {"mpich", "intelmpi"}
    assert [f.name for f in starters_of("Intel MPI") if f.name in hydra] == ["intelmpi", "mpich"]
    assert [f.name for f in starters_of("MPICH") if f.name in hydra] == ["mpich", "intelmpi"]
    assert starters_of("Open MPI")[0].name == "openmpi"


def test_those_that_bind_ranks_can_be_told_not_to() -> None:
    found = {name: " ".join(family.unbound) for name, family in families().items()}
    wanted = {
        "openmpi": "--bind-to none",
        "intelmpi": "-genv I_MPI_PIN 0",
        "srun": "--cpu-bind=none",
        "aprun": "-cc none",
    }
    assert {name: words for name, words in found.items() if words} == wanted


def test_the_number_of_ranks_stands_where_a_launcher_wants_it() -> None:
    assert family(each=("-r", "{n}")).words("x", 8, 4) == ("x", "-n", "8", "-r", "4")
    jobs = family(count=("--np={ranks}", "-s"), subcommand=("run",), each=("--nodes={nodes}",))
    assert jobs.words("x", 9, 4) == ("x", "run", "--np=9", "-s", "--nodes=3")
    assert jobs.words("x", 9, 0) == ("x", "run", "--np=9", "-s")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"name": "openmpi"}, "another has its name"),
        ({"name": "Flux run"}, "no word of small letters"),
        ({"programs": ()}, "has no program"),
        ({"count": ("-n",)}, "does not say where"),
        ({"says": "("}, "is no pattern"),
        ({"own": "*"}, "is no pattern"),
        ({"own": "libx", "libraries": ()}, "no family of libraries"),
    ],
)
def test_what_is_incomplete_is_refused(wrong: dict[str, object], why: str) -> None:
    before = families()
    with pytest.raises(InputError, match=why):
        FAMILIES.register(family(**wrong))
    assert families() == before


def test_a_package_outside_brings_a_launcher(tmp_path: Path) -> None:
    package(tmp_path, examples("adding-a-launcher.md"), "nodewise.launchers", "FAMILY")
    dialect = examples("adding-a-dialect.md")
    package(tmp_path, {"flux.py": dialect["flux.py"]}, "nodewise.dialects", "DIALECT")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "flux").write_text(FLUX)
    (programs / "flux").chmod(0o755)
    app = tmp_path / "app"
    app.write_text('#!/bin/sh\necho "{\\"nodewise\\": 1, \\"seconds\\": $((FLUX_TASK_RANK + 1))}"\n')
    app.chmod(0o755)
    words = ("run", "-r", "2", "--out", str(tmp_path / "kept"), "--json", "--launcher", "flux", "--ranks", "3", "--")
    done = nodewise_with(tmp_path, *words, str(app), PATH=f"{programs}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["median_s"] == 3 and said["source"] == "program", said
    assert len(json.loads((tmp_path / "kept/samples.jsonl").read_text().splitlines()[-1])["ranks"]) == 3
    missing = nodewise_with(tmp_path, *words, str(app), PATH="/usr/bin:/bin")
    assert missing.returncode == 2 and "Flux is not here" in missing.stderr and "flux-core" in missing.stderr
    unknown = nodewise_with(tmp_path, "run", "--launcher", "fluxx", "--ranks", "3", "--", str(app))
    assert unknown.returncode == 2 and ", ".join([*families(), "flux"]) in unknown.stderr
