# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines, where a kernel for them is found (in /boot, or by NODEWISE_GUEST_KERNEL): emulated ones, too, since nothing here is about times."""

import re
from pathlib import Path

import pytest

from nodewise.base.errors import UnavailableError
from nodewise.isolation import launcher as launching
from nodewise.isolation.kind import kind_of
from nodewise.isolation.launcher import EMULATED, STARTUP, IsolatedLauncher
from nodewise.isolation.probe import working_way
from nodewise.runner.isolation import read_isolation
from nodewise.runner.launcher import RunOptions
from nodewise.runner.setting import Setting
from tests.isolation.runtimes import GUESTS, booted, left, state_of_the_system

_LIMIT_S = 240.0


@pytest.mark.long
@pytest.mark.parametrize("kind", GUESTS)
def test_a_program_runs_in_a_system_of_its_own(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    way = booted(kind_of(kind))
    monkeypatch.setattr(launching, "working_way", lambda *_: way)
    before = state_of_the_system()
    given = tmp_path / "in"
    given.write_text("one line\n")
    inner = f"ls /sys/class/net > {tmp_path}/net; grep ' / ' /proc/mounts > {tmp_path}/root"
    text = f"cat; {inner}; uname -r > {tmp_path}/release; grep Cpus_allowed_list: /proc/self/status >&2; echo $VALUE $0; (echo no > /etc/written) 2>&-; exit 5"
    setting = Setting(
        ("sh", "-c", text, "a b"),
        env={"VALUE": "of mine"},
        isolation=read_isolation(f"{kind},volume={tmp_path}"),
        mask=(0,),
    )
    options = RunOptions(cwd=tmp_path, stdin=given, accepted=frozenset({5}), expect=None)
    with IsolatedLauncher(options) as launcher:
        sample = launcher.run(setting, timeout_s=_LIMIT_S)
    assert sample.ok, sample.error
    assert sample.usage["exit_code"] == 5 and 0 < sample.seconds < sample.wall_s and sample.metrics[STARTUP] > 0
    assert (tmp_path / "release").read_text().strip() and not Path("/etc/written").exists()
    # its own loopback alone, and the host's files by 9p
    assert (tmp_path / "net").read_text().split() == ["lo"] and " 9p " in (tmp_path / "root").read_text()
    assert left(before) == {}
    assert any(mark.startswith(EMULATED) for mark in sample.marks) == way.emulated


@pytest.mark.parametrize("kind", GUESTS)
def test_it_is_refused_in_the_words_of_qemu(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that knows no such machine, as QEMU without `microvm` says it."""
    said = f"qemu-system-x86_64: unsupported machine type\\nUse -machine help to list supported machines ({kind})"
    qemu = tmp_path / "qemu-system-x86_64"
    qemu.write_text(f"#!/bin/sh\nprintf '{said}\\n' >&2\nexit 1\n")
    qemu.chmod(0o755)
    (tmp_path / "boot").mkdir()
    folder = tmp_path / "lib/modules/1.0"
    folder.mkdir(parents=True)
    names = ("virtio_mmio", "virtio_pci", "9pnet_virtio", "9p")
    (folder / "modules.builtin").write_text("".join(f"kernel/{name}.ko\n" for name in names))
    (tmp_path / "boot/vmlinuz-1.0").touch()
    monkeypatch.setenv("NODEWISE_GUEST_KERNEL", str(tmp_path / "boot/vmlinuz-1.0"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = re.escape(
        f"emulated: qemu-system-x86_64: unsupported machine type Use -machine help to list supported machines ({kind})"
    )
    with pytest.raises(UnavailableError, match=f"{kind} does not work here: .*{words}"):
        working_way(kind_of(kind), "emulated")
