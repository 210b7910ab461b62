# SPDX-License-Identifier: BSD-3-Clause
"""What each MPI found here takes to carry messages, and why: asked of itself, by a run of one rank."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nodewise.base.errors import NodewiseError
from nodewise.base.frozen import dataclass
from nodewise.base.native import native_path
from nodewise.fabric.lines import INTEL_MPI, MPICH, OPEN_MPI, Line, lines_for
from nodewise.fabric.mpi_output import (
    MpichBuild,
    OmpiInfo,
    Taken,
    parse_intel_mpi,
    parse_mpich,
    parse_mpichversion,
    parse_ompi_info,
    parse_open_mpi,
)
from nodewise.fabric.providers import Provider
from nodewise.runner.commands import passing_folder, run_whole, will
from nodewise.runner.family import families
from nodewise.runner.mpi import family_of

#: What each is told, so that it says what it takes.
_SAY = {
    OPEN_MPI: {
        "OMPI_MCA_pml_base_verbose": "10",
        "OMPI_MCA_mtl_base_verbose": "10",
        "OMPI_MCA_btl_base_verbose": "10",
        "OMPI_MCA_opal_common_ofi_verbose": "10",
        # one rank that only joins: what Open MPI guards root against is no matter
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    },
    MPICH: {"MPIR_CVAR_DEBUG_SUMMARY": "1", "UCX_LOG_LEVEL": "info"},
    INTEL_MPI: {"I_MPI_DEBUG": "4", "I_MPI_FABRICS": "ofi"},
}
#: The libraries of each by their names in its own folder, and the folders below its place.
_LIBRARIES = {
    OPEN_MPI: ("libmpi.so.40", "libmpi.so.80"),
    MPICH: ("libmpich.so.12", "libmpi.so.12"),
    INTEL_MPI: ("libmpi.so.12",),
}
_FOLDERS = ("lib", "lib64", "lib/release")
_MOST = 1 << 20


@dataclass(frozen=True)
class MpiTransport:
    """An MPI found here: what it takes to carry messages between nodes (`transport`, `provider` where libfabric carries), and `why`.

    `netmods` are MPICH's, `others` what it has and did not take, `lines` what to set; `unknown` says why it is not known what it takes.
    """

    name: str
    title: str
    version: str
    launcher: str
    transport: str
    provider: str
    adapters: tuple[str, ...]
    netmods: tuple[str, ...]
    why: tuple[str, ...]
    others: tuple[str, ...]
    lines: tuple[Line, ...]
    unknown: str


def ask_mpis(
    best: Provider | None, limit_s: float, environment: Mapping[str, str], run: bool
) -> Iterator[MpiTransport | str]:
    """Each MPI that is here, and of each that is not one line that says so. Without `run` no rank is started."""
    for name in (OPEN_MPI, MPICH, INTEL_MPI):
        launcher = _launcher(name, environment)
        if launcher is None:
            family = families()[name]
            yield f"{family.title}: none of its launchers is on PATH (package {family.package})"
        else:
            yield _asked(name, launcher, best, limit_s, environment, run)


def _launcher(name: str, environment: Mapping[str, str]) -> str | None:
    """The launcher of an MPI that stands first on PATH, whatever it is called: that of the environment that is loaded."""
    folders = [f for f in environment.get("PATH", os.defpath).split(os.pathsep) if f]
    there = [p for f in folders for program in families()[name].programs if (p := shutil.which(program, path=f))]
    return next((p for p in there if family_of(p, environment) is families()[name]), None)


def _asked(
    name: str, launcher: str, best: Provider | None, limit_s: float, environment: Mapping[str, str], run: bool
) -> MpiTransport:
    info, build, version = _built(name, launcher, limit_s, environment)
    taken, unknown = None, "not asked: no rank was started"
    netmods = build.netmods if build else ()
    if run:
        text, unknown = _one_rank(name, launcher, limit_s, environment)
        taken = _read(name, text, info, build)
        if taken is not None:
            unknown = ""
            if "ofi" in netmods and taken.transport != "ofi":
                text, _ = _one_rank(name, launcher, limit_s, {**environment, "MPIR_CVAR_CH4_NETMOD": "ofi"})
                taken = _with_ofi(taken, _read(name, text, info, build))
        else:
            unknown = unknown or "a run of one rank does not say"
    return MpiTransport(
        name=name,
        title=families()[name].title,
        version=version,
        launcher=launcher,
        transport=taken.transport if taken else "",
        provider=taken.provider if taken else "",
        adapters=taken.adapters if taken else (),
        netmods=netmods,
        why=taken.why if taken else (),
        others=taken.others if taken else (),
        lines=lines_for(name, taken, best, info, netmods),
        unknown=unknown,
    )


def _with_ofi(taken: Taken, by_ofi: Taken | None) -> Taken:
    """What it took, and what it would over its other netmod, libfabric."""
    if by_ofi is None or not by_ofi.provider:
        return taken
    more = f"over its other netmod, ofi, it would take {by_ofi.provider}: {by_ofi.why[-1]}"
    return Taken(taken.transport, "", (*taken.why, more), taken.others, by_ofi.seen, taken.adapters)


def _built(
    name: str, launcher: str, limit_s: float, environment: Mapping[str, str]
) -> tuple[OmpiInfo | None, MpichBuild | None, str]:
    """What an MPI's own program says of how it is built, and its version."""
    if name == OPEN_MPI:
        said = _said([_beside(launcher, "ompi_info"), "--parsable", "--all", "--level", "9"], limit_s, environment)
        info = parse_ompi_info(said)
        return (info, None, info.version) if any(info.components.values()) else (None, None, "")
    if name == MPICH:
        build = parse_mpichversion(_said([_beside(launcher, "mpichversion")], limit_s, environment))
        return None, build, build.version if build else ""
    said = _said([launcher, "--version"], limit_s, environment)
    words = said.replace(",", " ").split()
    return None, None, words[words.index("Version") + 1] if "Version" in words[:-1] else ""


def _beside(launcher: str, program: str) -> str:
    """The program that lies beside a launcher, or the one on PATH."""
    own = Path(launcher).with_name(program)
    return str(own) if own.is_file() else program


def _said(words: Sequence[str], limit_s: float, environment: Mapping[str, str]) -> str:
    """What a program prints; nothing where it is not here, fails, or does not end in time."""
    try:
        with will(":") as begun:
            ended = run_whole(words, limit_s, begun, most=8 * _MOST, env={**environment, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout


def _one_rank(name: str, launcher: str, limit_s: float, environment: Mapping[str, str]) -> tuple[str, str]:
    """What a rank prints as it joins, and why it did not where it did not."""
    try:
        words = [launcher, "-n", "1", str(native_path("nodewise-mpi-probe")), _library(name, launcher)]
        # an MPI leaves folders behind where it is ended early
        with passing_folder("nodewise-fabric-") as (folder, begun):
            told = {**environment, **_SAY[name], "TMPDIR": str(folder)}
            ended = run_whole(words, limit_s, begun, most=_MOST, env=told)
    except subprocess.TimeoutExpired:
        return "", f"a run of one rank does not end within {limit_s:.3g} s"
    except (OSError, NodewiseError) as problem:
        return "", f"a run of one rank cannot be started: {problem}"
    said = f"{ended.stdout}\n{ended.stderr}"
    if ended.returncode:
        last = next((line.strip() for line in reversed(ended.stderr.splitlines()) if line.strip(" -")), "")
        return said, f"a run of one rank fails with exit code {ended.returncode}: {last[:200]}"
    return said, ""


def _library(name: str, launcher: str) -> str:
    """The library of the MPI that a launcher is of: below the place where that lies, else the one that the loader finds."""
    for place in dict.fromkeys((Path(launcher).parent.parent, Path(os.path.realpath(launcher)).parent.parent)):
        if place == Path("/usr"):
            continue
        for path in (place / folder / library for folder in _FOLDERS for library in _LIBRARIES[name]):
            if path.is_file():
                return str(path)
    return families()[name].file


def _read(name: str, text: str, info: OmpiInfo | None, build: MpichBuild | None) -> Taken | None:
    if name == OPEN_MPI:
        return parse_open_mpi(text, info)
    if name == MPICH:
        return parse_mpich(text, build or MpichBuild("", "", ()))
    return parse_intel_mpi(text)
