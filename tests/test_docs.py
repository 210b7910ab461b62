# SPDX-License-Identifier: BSD-3-Clause
"""The pages of docs/, as they are written: what is typed there is typed, and what is shown is what comes.

In a block of `console` each line that begins with `$` is run by a shell in the page's own folder, in which the page's files lie (code blocks with
a caption), and the lines below it are what it prints: numbers and units are free, `…` stands for anything. In `console measured`
the shown lines are some of those that come, in that order, as far as their first words tell. Blocks of `sh` need what a test has not (a cluster, an hour): the words of nodewise in them are
read by its command line.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from nodewise.base.errors import NodewiseError
from nodewise.cli.main import nodewise_command

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if "```console" in p.read_text() or "```sh" in p.read_text()]
#: Pages that measure for long; the others take some seconds.
LONG = {"first-hour.md", "kernel.md"}
_BLOCK = re.compile(r"^```(console(?: measured)?|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^```", re.MULTILINE | re.DOTALL)
_UNIT = re.compile(r"(ns|µs|ms|s|min|h|[KMGT]i?B|[KMG]Hz|%)[,;.)]?")


@dataclass(frozen=True)
class Typed:
    """A command and the lines that it prints."""

    command: str
    shown: list[str]
    measured: bool


def typed(text: str) -> list[Typed]:
    """The commands of a page's console blocks."""
    found = []
    for kind, block in _BLOCK.findall(text):
        if kind == "sh":
            continue
        parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
        assert not parts[0].strip(), f"a block begins with a command: {parts[0]}"
        for part in parts[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            found.append(Typed(command, shown, kind.endswith("measured")))
    return found


def pattern(line: str) -> str:
    """What a line may look like that is shown so: numbers, and units behind them, are free."""
    words = []
    for word in line.split():
        if word == "…":
            words.append(r".*")
        elif re.search(r"\d", word) or _UNIT.fullmatch(word):
            words.append(r"\S+")
        else:
            words.append(".*".join(re.escape(part) for part in word.split("…")))
    return r"\s+".join(words)


def is_shown(shown: list[str], printed: str) -> bool:
    """Whether what was printed is what is shown."""
    parts = [r"(?:.*\n)*" if line.strip() == "…" else rf"\s*{pattern(line)}\s*\n" for line in shown]
    return re.fullmatch("".join(parts), printed.strip("\n") + "\n") is not None


def begins(shown: list[str], printed: str) -> bool:
    """Whether lines that begin with the first words of the shown ones were printed, in this order; a frame is as wide as it has to be."""

    def first(line: str) -> list[str]:
        return line.replace("─", "").split()[:1]

    lines = iter(printed.splitlines())
    return all(any(first(line) == first(start) for line in lines) for start in shown if start.strip() != "…")


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["time 0.5 s"], "time   812.25 ms\n", True),
        (["time 0.5 s"], "tempo 0.5 s\n", False),
        (["a", "…", "b"], "a\nx\ny\nb\n", True),
        (["a", "…", "b"], "a\nx\ny\n", False),
        (["found … here"], "found it all here\n", True),
        (["one"], "one\ntwo\n", False),
    ],
)
def test_what_is_shown_is_held_against_what_is_printed(shown: list[str], printed: str, same: bool) -> None:
    assert is_shown(shown, printed) is same


def test_a_frame_is_as_wide_as_it_has_to_be() -> None:
    shown = ["╭ socket 0 ──╮", "│ 0 │ 1      │", "╰────────────╯", "clock 2.60 GHz"]
    assert begins(shown, "╭ socket 0 ─────╮\n│ 0 │ 1 │\n╰───────────────╯\nblock: vda\nclock 2.00 GHz\n")
    assert not begins(shown, "╭ socket 0 ─────╮\n│ 0 │ 1 │\nclock 2.00 GHz\n")


def _environment(folder: Path) -> dict[str, str]:
    scripts = sysconfig.get_path("scripts")
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_"))},
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "NODEWISE_HISTORY": str(folder / "history.sqlite"),
        "COLUMNS": "100",
    }


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, id=p.stem, marks=[pytest.mark.long] if p.name in LONG else [])
        for p in PAGES
        if typed(p.read_text())
    ],
)
def test_what_a_page_types_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    for name, content in _FILE.findall(text):
        (tmp_path / name).write_text(content)
    for one in typed(text):
        done = subprocess.run(
            ["bash", "-c", one.command],
            cwd=tmp_path,
            env=_environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if one.measured and "promises nothing: undecided: the machine was busy" in done.stderr:
            # other tests ran meanwhile, and what the page shows from here on is that of a gain
            break
        # what was measured may be a bad answer, but it is one
        assert done.returncode in ((0, 1) if one.measured else (0,)), (one.command, done.stdout, done.stderr)
        fits = begins if one.measured else is_shown
        assert not one.shown or fits(one.shown, done.stdout), f"{one.command} printed:\n{done.stdout}"


def _words_of(command: str) -> list[list[str]]:
    """The words behind each `nodewise` in a line for the shell, as far as they are one command's."""
    reader = shlex.shlex(command.replace("\\\n", " ").replace("$(", " ; "), posix=True, punctuation_chars="|;&<>()")
    reader.whitespace_split = True
    try:
        words = list(reader)
    except ValueError:
        # a part of a sentence or of a script
        words = command.split()
    found: list[list[str]] = []
    inside = False
    for word in words:
        if set(word) <= set("|;&<>()"):
            inside = False
        elif word == "nodewise" and not inside:
            found.append([])
            inside = True
        elif inside:
            found[-1].append(word)
    return found


def _options(command: click.Command, context: click.Context) -> set[str]:
    return {name for p in command.get_params(context) if isinstance(p, click.Option) for name in p.opts}


#: All pages that people read, also those next to what they are about.
READ = [
    p
    for folder in ("docs", "examples", "native", "src/nodewise", "studies/nodewise_studies", "packaging")
    for p in sorted((ROOT / folder).rglob("*.md"))
] + [ROOT / "README.md", ROOT / "studies/README.md", ROOT / "CONTRIBUTING.md"]
#: What the examples of the pages on additions bring; a test of each installs it and types what the page shows.
BROUGHT = {"drift", "--export-tap", "--blist"}
_INDENTED = re.compile(r"^    ((?:[A-Z_]+=\S+ )*(?:ssh .* )?nodewise .*)$", re.MULTILINE)
_FENCED = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:[A-Z_]+=\S+ )*nodewise [^`]+)`")
#: Stand for what a reader puts there, or for more of the same.
_PLACEHOLDER = re.compile(r"…|\.\.\.|\b(NAME|N|DIR|FILE|FOLDER|COMMAND|OPTIONS|STUDY|[A-Z]{4,})\b")


def shown_lines(text: str) -> list[tuple[str, bool]]:
    """Every line of a page that names nodewise with a command: in blocks of any kind and indented, which are whole, and within sentences."""
    fenced = [line for block in _FENCED.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    plain = _FENCED.sub("", text)
    inline = [" ".join(found.split()) for found in _INLINE.findall(plain)]
    typed_there = [line for line in fenced if re.search(r"(^ *|[$|;&:-] *|[A-Z_]+=\S+ +)nodewise [a-z-]", line)]
    return [(line, True) for line in (*typed_there, *_INDENTED.findall(plain))] + [(line, False) for line in inline]


@pytest.mark.parametrize("page", READ, ids=[str(p.relative_to(ROOT)) for p in READ])
def test_what_a_page_shows_is_taken_by_the_command_line(page: Path) -> None:
    """Each command is there, each option is that command's, and where nothing is left open its values are read, too."""
    context = click.Context(nodewise_command, info_name="nodewise")
    for line, whole in shown_lines(page.read_text()):
        for words in _words_of(line):
            if not words or words[0].startswith("-"):
                known = {name for p in nodewise_command.params for name in p.opts} | {"--help", "-h"}
                # `nodewise --traceback …`
                assert not words or words[0] in known, (page.name, words)
                continue
            if {words[0], *(word.split("=")[0] for word in words)} & BROUGHT or words[0].isupper() or words[0] == "…":
                continue
            command = nodewise_command.get_command(context, words[0])
            # a sentence may begin with its name
            assert command is not None, (page.name, words)
            if whole and not _PLACEHOLDER.search(" ".join(words[1 : words.index("--") if "--" in words else None])):
                try:
                    command.make_context(words[0], words[1:], parent=context)
                except (click.UsageError, NodewiseError) as problem:
                    raise AssertionError(f"{page.name}: {line}: {problem}") from problem
            elif words[0] != "study":
                # each study has options of its own
                known = _options(command, context)
                for word in words[1 : words.index("--") if "--" in words else None]:
                    # with a blank it is the value of another
                    if word.startswith("-") and " " not in word:
                        assert word.split("=")[0] in known, (page.name, words[0], word)


def test_lines_are_found_wherever_they_stand() -> None:
    text = "See `nodewise check --all` or\n\n    nodewise quiet  # now\n\n```yaml\n- run: nodewise run -- a\n```\n\nand nodewise says `x`.\n"
    assert [_words_of(line)[0][0] for line, _ in shown_lines(text)] == ["run", "quiet", "check"]


def test_every_page_is_reached() -> None:
    listed = set()
    for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", (DOCS / "index.md").read_text(), re.MULTILINE | re.DOTALL):
        listed |= {line for line in tree.splitlines() if line and not line.startswith(":")}
    there = {str(p.relative_to(DOCS).with_suffix("")) for p in DOCS.rglob("*.md")}
    assert there - {"index"} == listed


def test_pictures_of_pages_stand_beside_each_other(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    for kind in ("tune", "check"):
        for width in (390, 1400, 2560):
            (tmp_path / f"pages/{kind}-{width}.png").write_bytes(b"")
    conf = runpy.run_path(str(DOCS / "conf.py"))
    text = conf["gallery"](tmp_path / "pages")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["check", "tune"]
    assert re.findall(r'<img src="pages/tune-(\d+).png', text) == ["390", "1400", "2560"]
    assert "were not made" in conf["gallery"](tmp_path / "none")


@pytest.mark.long
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*words, str(DOCS), str(tmp_path / "site")], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site/commands.html").read_text()
    assert "--max-runs" in page and "Find the fastest way to run" in page
    # in groups, with the examples, as --help has them; options of exporters, too
    assert ">Metrics and checks<" in page and "# search, verdict, launch line and report" in page
    assert "--export-junit" in page
