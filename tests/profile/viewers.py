# SPDX-License-Identifier: BSD-3-Clause
"""Other people's viewers of profiles, installed from their registries into build/viewers once: speedscope and inferno."""

from __future__ import annotations

import base64
import fcntl
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from playwright.sync_api import Browser

SPEEDSCOPE, INFERNO = "1.25.0", "0.12.8"
_FOLDER = Path(__file__).parents[2] / "build" / "viewers"
_LIMIT_S = 900


def _installed(tool: str, package: str, made: Path, words: list[str]) -> Path:
    """What is installed by `tool`; a test is skipped where that is missing, or can reach no registry."""
    if not made.exists():
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed, by which {package} is")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with (_FOLDER / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                done = subprocess.run(
                    [tool, *words], cwd=_FOLDER, capture_output=True, text=True, check=False, timeout=_LIMIT_S
                )
                if done.returncode or not made.exists():
                    pytest.skip(f"{tool} could not install {package}: {done.stderr.strip()[-300:]}")
    return made


def speedscope_page() -> Path:
    """The page of speedscope."""
    made = _FOLDER / f"speedscope-{SPEEDSCOPE}/node_modules/speedscope"
    words = ["install", "--silent", "--prefix", str(made.parents[1]), f"speedscope@{SPEEDSCOPE}"]
    return _installed("npm", "speedscope", made / "dist/release/index.html", words)


def speedscope_schema() -> object:
    """The schema of its files, as it is handed out with it."""
    return json.loads((speedscope_page().parent / "file-format-schema.json").read_text())


def inferno_flamegraph() -> Path:
    """The program that draws collapsed stacks."""
    root = _FOLDER / f"inferno-{INFERNO}"
    words = ["install", "--locked", "--quiet", "-j", "2", "--root", str(root), "inferno", "--version", INFERNO]
    return _installed("cargo", "inferno", root / "bin/inferno-flamegraph", words)


def read_by_speedscope(browser: Browser, file: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """The table of functions of the first profile of a file: the total and own share that speedscope prints, by name."""
    # as its own command line hands a file over
    handed = folder / f"{file.name}.js"
    data = base64.b64encode(file.read_bytes()).decode()
    handed.write_text(f"speedscope.loadFileFromBase64({json.dumps(file.name)}, {json.dumps(data)})")
    page = browser.new_page()
    try:
        page.goto(f"file://{speedscope_page()}#localProfilePath={handed}")
        # the page hears keys once the file is read
        page.wait_for_function("document.body.innerText.includes('Export')")
        page.keyboard.press("3")
        page.wait_for_function("document.body.innerText.includes('Symbol Name')")
        rows = [
            [cell.inner_text().strip() for cell in row.query_selector_all("td")]
            for row in page.query_selector_all("tr")
        ]
    finally:
        page.close()
    # above it is the list of profiles, whose first cell is a number alone
    found = [row for row in rows if len(row) == 3 and re.search(r"\([^()]*%\)$", row[0])]
    assert len({name for *_, name in found}) == len(found), f"a function stands there twice: {found}"
    return {name: (total, own) for total, own, name in found}


def share(text: str) -> float:
    """The share in a cell such as `10.10ms (9.1%)`."""
    match = re.search(r"\([<>]?([\d.]+)%\)$", text)
    assert match is not None, text
    return float(match[1]) / 100


def read_by_inferno(file: Path) -> dict[str, int]:
    """How many samples each function has in the flame graph that inferno draws, innermost and outer ones together."""
    done = subprocess.run([inferno_flamegraph(), str(file)], capture_output=True, text=True, check=True)
    # it says how many lines it could not read
    assert done.stderr == "", done.stderr
    found: dict[str, int] = {}
    for title in ElementTree.fromstring(done.stdout).iter("{http://www.w3.org/2000/svg}title"):
        match = re.fullmatch(r"(.*) \(([\d,]+) samples, [\d.]+%\)", title.text or "", re.DOTALL)
        if match:
            found[match[1]] = found.get(match[1], 0) + int(match[2].replace(",", ""))
    return found
