# SPDX-License-Identifier: BSD-3-Clause
"""What carries messages here: libfabric's providers, proved; what each MPI takes; ports and their links."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nodewise.base.bounded_json import read_bounded
from nodewise.base.errors import InputError
from nodewise.fabric.known import KNOWN, Reach, known
from nodewise.fabric.lines import fitting
from nodewise.fabric.mpis import MpiTransport, ask_mpis
from nodewise.fabric.port_rules import port_findings
from nodewise.fabric.ports import INFINIBAND, read_ports
from nodewise.fabric.proof import PROGRAM, Outcome, Proof, judged, prove
from nodewise.fabric.providers import Provider, parse_list, parse_verbose, parse_version, with_listed
from nodewise.fabric.rails import rails_of
from nodewise.fabric.rates import all_links, facing, parse_links
from nodewise.fabric.result import Fabric, Links, Missing, Offer, Ports, missing_of
from nodewise.fabric.translate import Translation, settings_in, translate
from nodewise.quiet.finding import Finding, Severity, worst_first
from nodewise.runner.commands import run_whole, will

_ASK_S = 20.0
_MOST, _LARGEST_SCRIPT = 1 << 24, 1 << 20
_PACKAGE = "libfabric-bin"


def examine_fabric(
    limit_s: float = 5.0,
    run: bool = True,
    environment: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Fabric:
    """Ask libfabric and each MPI here; with `run` each provider is proved within `limit_s`, and one rank of each MPI is started.

    `say` is told what is being looked at. Nothing is changed, and nothing that was started outlives it.
    """
    variables = dict(os.environ if environment is None else environment)
    absent: list[str] = []
    version, listed, providers = _providers(variables, absent)
    proofs = _proofs(providers, limit_s, run, variables, absent, say)
    best = fitting(providers, proofs if any(p.works for p in proofs.values()) else {})
    mpis: list[MpiTransport] = []
    say("MPIs")
    for one in ask_mpis(best, max(_ASK_S, limit_s), variables, run):
        if isinstance(one, str):
            absent.append(one)
        else:
            mpis.append(one)
    ports = examine_ports(Path("/"), (*listed, *(p.name for p in providers)))
    if ports.absent:
        absent.append(ports.absent)
    offers = tuple(_offer(p, proofs) for p in providers)
    missing = _missing(providers) if version else ()
    return Fabric(
        libfabric=version,
        offers=offers,
        best=best.name if best is not None and (not run or best.name in proofs) else "",
        missing=missing,
        mpis=tuple(mpis),
        ports=ports,
        findings=tuple(worst_first([*ports.findings, *_findings(offers, mpis, ports, missing)])),
        absent=tuple(absent),
    )


def examine_ports(root: Path, listed: Sequence[str] = ()) -> Ports:
    """The ports below a root, and what is wrong with them. Raises InputError where there is no such folder."""
    if not root.is_dir():
        raise InputError(f"--root: no such folder: {root}", "name a copy of a system's /, or of its /sys")
    found = read_ports(root)
    absent = "ports: no InfiniBand, Omni-Path or RoCE adapter (no sys/class/infiniband)" if not found else ""
    ports = found or ()
    return Ports(str(root), ports, port_findings(ports), rails_of(ports, listed), absent)


def ask_links(words: Sequence[str]) -> Links:
    """The links that words name, all of them without a word; what comes up between two. Raises InputError."""
    found = parse_links(words)
    if len(found) > 2:
        raise InputError(
            f"{len(found)} links are named, and a cable has two ends", "give one link, or two that face each other"
        )
    between = facing(*found) if len(found) == 2 else None
    return Links(found or all_links(), between, between is not None and found[0].width != found[1].width)


def ask_translation(words: Sequence[str]) -> Translation:
    """What takes the place of settings, given as NAME=VALUE or as scripts that make them. Raises InputError."""
    if not words:
        raise InputError(
            "no setting is given", "write: nodewise fabric translate I_MPI_FABRICS=shm:tmi, or name a job script"
        )
    settings: list[tuple[str, str]] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            settings.append((name, value))
            continue
        settings += settings_in(_script(Path(word)))
    return translate(settings)


def _script(path: Path) -> str:
    try:
        if not path.is_file():
            raise InputError(f"neither NAME=VALUE nor a file: {path}", "such as I_MPI_FABRICS=shm:dapl, or job.sh")
        return read_bounded(path, _LARGEST_SCRIPT).decode(errors="replace")
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(f"cannot read {path}: {problem}") from problem


def _providers(environment: Mapping[str, str], absent: list[str]) -> tuple[str, dict[str, str], tuple[Provider, ...]]:
    """libfabric's version, what is built in, and the providers."""
    if shutil.which("fi_info", path=environment.get("PATH")) is None:
        absent.append(f"libfabric: fi_info is not on PATH (package {_PACKAGE})")
        return "", {}, ()
    try:
        version, listed, text = (_said(["fi_info", word], environment) for word in ("--version", "-l", "-v"))
    except subprocess.TimeoutExpired:
        absent.append(f"libfabric: fi_info does not end within {_ASK_S:.0f} s")
        return "", {}, ()
    except OSError as problem:
        absent.append(f"libfabric: fi_info cannot be started: {problem.strerror}")
        return "", {}, ()
    built = parse_list(listed)
    found = with_listed(parse_verbose(text), built)
    if not found:
        absent.append("libfabric: fi_info lists no provider")
    return parse_version(version), built, found


def _said(words: Sequence[str], environment: Mapping[str, str]) -> str:
    with will(":") as begun:
        return run_whole(words, _ASK_S, begun, most=_MOST, env=dict(environment)).stdout


def _proofs(
    providers: Sequence[Provider],
    limit_s: float,
    run: bool,
    environment: Mapping[str, str],
    absent: list[str],
    say: Callable[[str], None],
) -> dict[str, Proof]:
    """By name what came of each provider's ping-pong; none without `run`, or where there is no fi_pingpong."""
    if not run or not providers:
        return {}
    if shutil.which(PROGRAM, path=environment.get("PATH")) is None:
        absent.append(f"proofs: {PROGRAM} is not on PATH (package {_PACKAGE})")
        return {}
    done = []
    for one in providers:
        say(one.name)
        try:
            done.append(prove(one, limit_s, environment))
        except OSError as problem:
            done.append(Proof(one.name, "", Outcome.NOT_TRIED, (), f"{PROGRAM}: {problem.strerror}"))
    return {proof.provider: proof for proof in judged(done)}


def _offer(provider: Provider, proofs: Mapping[str, Proof]) -> Offer:
    about = known(provider.name)
    proof = proofs.get(provider.name, Proof(provider.name, "", Outcome.NOT_TRIED))
    return Offer(provider, about.about if about else "", about.note if about else "", proof)


def _missing(providers: Sequence[Provider]) -> tuple[Missing, ...]:
    """Providers that there are and that this libfabric is built without; those that have gone are none."""
    there = {part for p in providers for part in p.name.split(";")}
    return tuple(
        missing_of(one) for one in KNOWN.values() if one.name not in there and not one.gone and one.name != "mlx"
    )


def _findings(
    offers: Sequence[Offer], mpis: Sequence[MpiTransport], ports: Ports, missing: Sequence[Missing]
) -> list[Finding]:
    """What no part shows by itself: an MPI that takes what is of no use, a fabric that no provider reaches."""
    found = []
    bad = {o.provider.name: o.proof for o in offers if o.proof.outcome in (Outcome.SLOW, Outcome.FAILS, Outcome.NO_END)}
    for mpi in mpis:
        # what an MPI would take over its second netmod is in its reasons, too
        taken = next((name for name in bad if name == mpi.provider or f"would take {name}:" in " ".join(mpi.why)), None)
        if taken is not None:
            proof = bad[taken]
            found.append(
                Finding(
                    "mpi-provider",
                    Severity.WRONG if taken == mpi.provider else Severity.NOTE,
                    f"{mpi.title} {mpi.version} takes {taken} over libfabric, which {_bad(proof)} here",
                    (proof.reason,),
                    "messages between nodes take as long",
                    "; ".join(mpi.lines[0].exports) if mpi.lines else "",
                )
            )
    infiniband = [p for p in ports.ports if p.layer == INFINIBAND and p.active]
    reaching = [o for o in offers if o.provider.found and (k := known(o.provider.name)) and k.reach is Reach.FABRIC]
    if infiniband and offers and not reaching:
        verbs = next((m for m in missing if m.name == "verbs"), None)
        found.append(
            Finding(
                "fabric-unreached",
                Severity.WRONG,
                f"{infiniband[0].name} is active, and no provider of libfabric sends over it",
                (),
                "what stands on libfabric goes by TCP",
                f"a libfabric built with {verbs.built_by} ({verbs.needs})" if verbs else "fi_info -v -p verbs says why",
            )
        )
    return found


def _bad(proof: Proof) -> str:
    return {Outcome.SLOW: "is too slow", Outcome.FAILS: "fails", Outcome.NO_END: "does not end a ping-pong in time"}[
        proof.outcome
    ]
