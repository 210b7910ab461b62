# SPDX-License-Identifier: BSD-3-Clause
"""What nodewise itself costs with 100 000 samples: of 1 000 settings in a tune, of 20 commands in a comparison.

Each stored experiment is read, concluded and reported in processes of their own; the page is opened in a browser where
there is one. Then a tune and a comparison of a program that does nothing: what a sample costs besides the program's own
wall time, at first and after 10 000 samples, `hyperfine -N` taking turns where it is there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAMPLES, SETTINGS, CONTENDERS = 100_000, 1000, 20
LONG = 10_000
#: The limits: megabytes of a process, seconds until a page is there, milliseconds a sample.
MEMORY_MB, OPEN_S, SAMPLE_MS = 100.0, 2.0, 2.0

# the peak is the address space's own: what the kernel sums up over a fork begins with the parent's
_MEASURED = """
import atexit, resource, sys, time
from pathlib import Path
sys.path.insert(0, {folder!r})
begin = time.perf_counter()
def told():
    peak = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM"))
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if {children} else 0
    print("\\nMEASURED", time.perf_counter() - begin, max(peak, children) / 1024, file=sys.stderr)
atexit.register(told)
path = Path({path!r})
{code}
"""
_READ = "from nodewise.records.experiment import read_experiment\nexperiment = read_experiment(path)"
_CONCLUDE = {
    "tune": _READ + "\nfrom nodewise.verdicts.tune import tune_verdict\ntune_verdict(experiment, 'decided')",
    "compare": _READ
    + "\nfrom nodewise.verdicts.compare import compare_verdict\ncompare_verdict(experiment, 'decided')",
}
_REPORT = "from nodewise.cli.main import main\nsys.argv = ['nodewise', 'report', str(path)]\nmain()"


def _measured(code: str, path: Path, children: bool = False) -> tuple[float, float]:
    """Seconds and megabytes of a fresh process."""
    program = _MEASURED.format(folder=str(Path(__file__).parents[1]), path=str(path), code=code, children=children)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    line = next((text for text in done.stderr.splitlines() if text.startswith("MEASURED")), None)
    if done.returncode or line is None:
        raise SystemExit(f"{code}\nfailed:\n{done.stderr}")
    _, seconds, megabytes = line.split()
    return float(seconds), float(megabytes)


def _row(what: str, told: str, limit: str = "", held: bool = True) -> None:
    print(f"{what:<52}{told:>14}   {limit}{'' if held else '   EXCEEDED'}", flush=True)


def _memory_row(what: str, measured: tuple[float, float]) -> None:
    seconds, megabytes = measured
    _row(f"{what}: time", f"{seconds:.2f} s", f"(< {SAMPLE_MS:g} ms a sample: {SAMPLES * SAMPLE_MS / 1e3:.0f} s)")
    _row(f"{what}: peak memory", f"{megabytes:.0f} MB", f"< {MEMORY_MB:.0f} MB", megabytes < MEMORY_MB)


_DRAWN = """
() => { const told = {};
  const look = () => {
    const figures = [...document.querySelectorAll(".figure")];
    const there = (f) => f.querySelector("svg");
    const shown = figures.filter((f) => f.getBoundingClientRect().top < innerHeight);
    if (figures.length && !told.seen && shown.every(there)) told.seen = performance.now();
    if (figures.length && figures.every(there) && document.readyState === "complete") told.all = performance.now();
    else requestAnimationFrame(look);
  };
  window.measured = told; look(); }
"""


def _opened(page_file: Path, times: int = 5) -> dict[str, float] | None:
    """Seconds until the page's load event, until what the window shows is drawn, and all figures; None without a browser."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        return None
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    rounds = []
    with sync_playwright() as play:
        for _ in range(times):
            try:
                browser = play.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
            except Error:
                return None
            view = browser.new_page(viewport={"width": 1280, "height": 800})
            view.add_init_script(f"({_DRAWN})()")
            view.goto(page_file.as_uri())
            view.wait_for_function("window.measured.all", timeout=60_000)
            told = view.evaluate(
                "() => ({...window.measured, load: performance.timing.loadEventEnd - "
                "performance.timing.navigationStart})"
            )
            rounds.append({k: v / 1e3 for k, v in told.items()})
            browser.close()
    return {k: sorted(r[k] for r in rounds)[times // 2] for k in rounds[0]}


def _stored(kind: str, folder: Path) -> None:
    """The rows of one large experiment."""
    path = folder / kind
    parts = SETTINGS if kind == "tune" else CONTENDERS
    begin = time.perf_counter()
    writing = [sys.executable, "-m", "benchmarks._stored", kind, str(path), str(SAMPLES), str(parts)]
    subprocess.run(writing, check=True, cwd=Path(__file__).parents[1])
    cost = (time.perf_counter() - begin) / SAMPLES * 1e3
    size = (path / "samples.jsonl").stat().st_size
    print(f"\n{kind}: {SAMPLES} samples of {parts}, {size / 1e6:.0f} MB of samples.jsonl")
    _row("made up and written, a sample", f"{cost:.3f} ms", f"< {SAMPLE_MS:g} ms", cost < SAMPLE_MS)
    _memory_row("read", _measured(_READ, path))
    _memory_row("read and concluded", _measured(_CONCLUDE[kind], path))
    _memory_row("nodewise report", _measured(_REPORT, path, children=True))
    page_file = path / "report.html"
    _row("report.html", f"{page_file.stat().st_size / 1e6:.2f} MB")
    opened = _opened(page_file)
    if opened is None:
        print("no browser: the page was not opened (playwright and Chromium are needed)")
        return
    for name, what in (
        ("load", "page: load event"),
        ("seen", "page: what is in view is drawn"),
        ("all", "page: all is drawn"),
    ):
        _row(what, f"{opened[name]:.2f} s", f"< {OPEN_S:g} s", opened[name] < OPEN_S)


def _live(kind: str, folder: Path, samples: int, settings: int = 2) -> None:
    """The rows of one experiment with a program that does nothing."""
    out = folder / f"live-{kind}-{settings}"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._live", kind, str(out), str(samples), str(settings)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    told = json.loads(done.stdout.splitlines()[-1])
    print(
        f"\n{kind} of `true`, {settings} settings: {told['samples']} samples; milliseconds besides the program's wall time"
    )
    for name, values in told["parts"].items():
        numbers = " ".join(f"{v:.2f}" for v in values)
        _row(f"{name}: median, mean, 99th percentile", numbers, f"< {SAMPLE_MS:g} ms", values[1] < SAMPLE_MS)
    _row(
        "peak memory at the end", f"{told['megabytes']:.0f} MB", f"< {MEMORY_MB:.0f} MB", told["megabytes"] < MEMORY_MB
    )


def _script() -> None:
    """What the first report of an installation needs besides: the figures' script is made, and kept."""
    code = "from nodewise.report.pages.bundle import bundle\nbundle()"
    seconds, megabytes = _measured(code, Path(), children=True)
    held = megabytes < MEMORY_MB
    _row("the figures' script, made once: time", f"{seconds:.2f} s")
    _row("the figures' script, made once: peak memory", f"{megabytes:.0f} MB", f"< {MEMORY_MB:.0f} MB", held)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = name
        _script()
        for kind in ("tune", "compare"):
            _stored(kind, Path(name))
        _live("compare", Path(name), LONG)
        _live("tune", Path(name), LONG, 24)
        _live("tune", Path(name), 1200, SETTINGS)
