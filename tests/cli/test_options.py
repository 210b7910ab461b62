# SPDX-License-Identifier: BSD-3-Clause
"""Options of all commands: each name has one meaning, one kind of value and one reader; what would do nothing is refused."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nodewise.cli.main import main, nodewise_command

#: By option what it takes (`flag` for nothing) and what it means, wherever it is. A new one belongs here, with its meaning.
OPTIONS: dict[str, tuple[str, str]] = {
    "--accept-codes": ("LIST", "exit codes that count as well done"),
    "--accept-disturbed": ("flag", "disturbed runs decide, too"),
    "--all": ("flag", "all that there is to show"),
    "--against": ("DIR", "an earlier profile"),
    "--call-graph": ("dwarf[,SIZE]|fp|none", "how callers are found"),
    "--collapsed": ("FILE", "stacks for other tools"),
    "--full": ("flag", "201 times"),
    "--no-history": ("flag", "nothing earlier is looked at"),
    "--off-cpu": ("flag", "where threads wait"),
    "--rate": ("N", "samples a second"),
    "--read": ("DIR", "a stored profile"),
    "--speedscope": ("FILE", "for speedscope"),
    "--top": ("N", "rows of a table"),
    "--max-size": ("SIZE", "of a recording"),
    "--port": ("N", "to listen on"),
    "--open": ("flag", "in the user's browser"),
    "--only-ranks": ("LIST", "of an MPI program"),
    "--allow": ("LIST", "use only these processors"),
    "--array": ("N[%M]", "so many jobs, so many at once"),
    "--any-output": ("flag", "outputs may differ"),
    "--any-machine": ("flag", "across machines, too"),
    "--axes": ("A,B", "what may be changed"),
    "--sweep": ("A,B", "every setting of these axes"),
    "--baseline": ("DIR", "an earlier experiment to hold against"),
    "--blocks": ("N", "how often each contender runs"),
    "--budget": ("TIME", "how long it may take"),
    "--build": ("COMMAND", "makes the program"),
    "--check": ("flag", "reads, shows, and starts nothing"),
    "--duration": ("TIME", "until sources end"),
    "--quiet": ("flag", "shows no rates"),
    "--by": ("TIME", "when a job has to end"),
    "--change-governor": ("flag", "may set governors"),
    "--catalogue": ("DIR", "knobs of one's own"),
    "--causes": ("FILE", "causes of one's own"),
    "--ci": ("github", "annotations and a summary"),
    "--cleanup": ("COMMAND", "after the last run of each"),
    "--command-name": ("NAME", "of each command"),
    "--commands": ("PATH", "a compile database"),
    "--compare": ("OTHER", "another placement"),
    "--compiler": ("NAME", "which compiles"),
    "--conclude": ("COMMAND", "after each run"),
    "--constraint": ("CONDITION", "between axes"),
    "--cost": ("PRICE/h", "of the machine"),
    "--cost-per-core": ("flag", "only what a setting uses"),
    "--counts": ("LIST", "how many threads, ranks or nodes"),
    "--cwd": ("DIR", "to run in"),
    "--dry-run": ("flag", "what would be tried"),
    "--env": ("NAME=VALUE", "for the program"),
    "--env-axis": ("NAME=VALUES", "values of a variable"),
    "--expect": ("REGEX", "that the output holds"),
    "--explain": ("flag", "what a setting does"),
    "--fact": ("NAME=VALUE", "a fact of one's own"),
    "--fail-if-slower": ("SHARE", "for CI"),
    "--fail-on": ("noisy|note", "for CI"),
    "--files": ("DIR", "for rank files"),
    "--file": ("FILE", "a suite"),
    "--for": ("FORM", "of a launch script"),
    "--git": ("REF REF", "commits of a repository"),
    "--function": ("NAME", "of loops"),
    "--history": ("DIR", "earlier snapshots"),
    "--hosts": ("A,B", "names of nodes"),
    "--hostfile": ("FILE", "names of nodes"),
    "--through": ("COMMAND", "what reaches nodes"),
    "--speed": ("LIST", "tests of speed"),
    "--meet": ("TEXT", "who pings whom"),
    "--folder": ("DIR", "where a test writes"),
    "--fanout": ("N", "nodes at once"),
    "--remote": ("COMMAND", "nodewise on a node"),
    "--framed": ("flag", "in lines that come whole"),
    "--html": ("FILE", "a page"),
    "--huge-pages": ("KIND", "of memory"),
    "--ignore-failure": ("flag", "any exit code is well done"),
    "--indent": ("flag", "JSON for reading"),
    "--input": ("FILE", "standard input"),
    "--interval": ("TIME", "between samples"),
    "--json": ("flag", "the answer as JSON on standard output"),
    "--isolation": ("KIND[,OPTION...]", "container or virtual machine"),
    "--junit": ("FILE", "JUnit's XML"),
    "--launcher": ("NAME", "what starts ranks"),
    "--limit": ("NAME=SIZE", "resource limit"),
    "--lines": ("A-B", "of loops"),
    "--list-rules": ("flag", "the rules, and no more"),
    "--loops": ("missed|vectorized", "which ones"),
    "--machine": ("MACHINE", "another one"),
    "--maximize": ("METRIC", "decides"),
    "--memory": ("POLICY", "where pages are to be"),
    "--metric": ("NAME=REGEX", "a number of the output"),
    "--min-runs": ("N", "of each"),
    "--minimize": ("METRIC", "decides"),
    "--no-run": ("flag", "by the file alone"),
    "--node": ("NAME", "of the node"),
    "--nodes": ("N", "like this machine"),
    "--on": ("slurm", "where it runs"),
    "--only": ("A,B", "contenders"),
    "--out": ("DIR", "of the experiment"),
    "--output": ("FILE", "where it is written"),
    "--over": ("threads|ranks|nodes", "what is varied"),
    "--over-ranks": ("[METRIC=]HOW", "what becomes of the ranks' metrics"),
    "--parameter": ("NAME=VALUES", "values for {NAME}"),
    "--pid": ("N", "a process"),
    "--plan": ("FILE", "to compare placement with"),
    "--png": ("FILE", "a drawing as pixels"),
    "--prepare": ("COMMAND", "before each run"),
    "--prologue": ("flag", "one line for a batch system"),
    "--quick": ("flag", "within a minute"),
    "--near": ("DEVICE,...", "devices, the processors nearest to them"),
    "--ranks": ("N", "of MPI"),
    "--ranks-per-node": ("N", "of the ranks that are started"),
    "--rebuild": ("flag", "history from folders"),
    "--reference": ("COMMAND", "that others are compared with"),
    "--reference-name": ("NAME", "of --reference"),
    "--resume": ("DIR", "go on"),
    "--roofline": ("flag", "under the machine's roofs"),
    "--result": ("FILE", "what a study computes"),
    "--root": ("DIR", "copy of a system"),
    "--rules": ("FILE|DIR", "rules of one's own"),
    "--runs": ("N", "exactly so many of each"),
    "--runtime": ("intel|llvm|gnu", "whose rules"),
    "--same-output": ("[FILE|REGEX]", "that may not differ"),
    "--sbatch": ("OPTIONS", "of sbatch"),
    "--save": ("FILE", "a machine"),
    "--script": ("FORM[=FILE]", "of the launch line"),
    "--seconds": ("TIME", "how long to look"),
    "--seed": ("N", "of the order"),
    "--setup": ("COMMAND", "before the first run of each"),
    "--shell": ("SHELL", "for commands"),
    "--show": ("METRIC[:max]", "a further metric"),
    "--since": ("DAY|TIME", "what began since then"),
    "--site": ("FILE", "what a site wants"),
    "--store": ("FILE|URL", "another history"),
    "--submit": ("[OPTIONS]", "as a job"),
    "--svg": ("FILE", "a drawing"),
    "--table": ("flag", "tables in place of the drawing"),
    "--threads": ("N", "of each rank"),
    "--timeout": ("TIME", "of a run, or of a node's answer"),
    "--times": ("N", "as long as the program"),
    "--to": ("DIALECT", "to write in"),
    "--tag": ("TAG", "of a suite's commands"),
    "--tolerance": ("SHARE", "of numbers in an output"),
    "--trust": ("flag", "another user's commands"),
    "--undecided": ("pass|fail", "for CI"),
    "--via": ("auto|openmp|preload|mask", "how threads are bound"),
    "--wait": ("flag", "for other experiments"),
    "--wait-quiet": ("TIME", "for a quiet machine"),
    "--walltime": ("TIME", "of a job"),
    "--warmup": ("N", "runs that are not counted"),
    "--weak": ("flag", "work grows with the number"),
    "--within": ("SHARE", "counts as no difference"),
    "--work": ("REGEX", "amount of work"),
    "--zones": ("share|packed|none", "of ranks"),
}
#: A name that means more than one thing, and why.
KNOWN = {
    "--isolation": "of all runs in run, compare and tune, of which several may be tried; of the one COMMAND of place",
    "--machine": "a machine that is not this one; in history those on which something was measured, by a part of their names",
    "--max-runs": "of each command in compare and confirm as in hyperfine; of all settings together in tune, whose runs it bounds",
    "--threads": "of one team, or in place of the teams of each level, as OMP_NUM_THREADS takes them",
    "-c": "--cleanup in compare as in hyperfine; likwid's expression in place, as in likwid-pin",
    "-p": "--prepare in compare as in hyperfine; the compile database in vec, as of clang's tools",
}
#: Commands whose options are looked at elsewhere.
ELSEWHERE = {"report"}


def _commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(nodewise_command)
    for name in nodewise_command.list_commands(context):
        command = nodewise_command.get_command(context, name)
        if command is not None and name not in ELSEWHERE:
            yield name, command


def _options() -> Iterator[tuple[str, str, click.Option]]:
    """Command, spelling and option; texts of dialects are those of the dialects."""
    from nodewise.placement.registry import all_texts

    brought = {text.option for text in all_texts().values()}
    for name, command in _commands():
        for option in command.get_params(click.Context(command)):
            if isinstance(option, click.Option):
                for spelling in option.opts:
                    if spelling not in brought and not spelling.startswith("--export-") and spelling != "--help":
                        yield name, spelling, option


def _takes(option: click.Option) -> str:
    if option.is_flag:
        return "flag"
    if isinstance(option.type, click.Choice):
        return "|".join(option.type.choices)
    return option.make_metavar(click.Context(click.Command("x")))


#: Of a command alone, in whose sentence the word means something else: scale to 64, a placement to a dialect.
OWN = {("scale", "--to"): "LIST", ("check", "--fail-on"): "wrong|noisy|note"}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_takes_the_same_everywhere(name: str) -> None:
    found = {(command, _takes(option)) for command, spelling, option in _options() if spelling == name}
    found -= {(command, takes) for (command, spelling), takes in OWN.items() if spelling == name}
    assert found and {takes for _, takes in found} == {OPTIONS[name][0]}, found


def test_every_option_has_its_meaning_here() -> None:
    second = {"-P", "--parameter-scan", "--parameter-list", "-n"}  # hyperfine's own, in compare
    there = {spelling for _, spelling, _ in _options() if spelling.startswith("--")} - second
    assert there - OPTIONS.keys() - KNOWN.keys() == set()
    assert OPTIONS.keys() - there == set()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run", "It is given once: `nodewise compare` takes several."),
        ("compare", "Given several times, each command runs in each."),
        ("tune", "Several are tried with --axes isolation."),
        ("scale", None),
        ("confirm", None),
    ],
)
def test_isolation_says_of_each_command_what_becomes_of_several(name: str, said: str | None) -> None:
    helps = [
        option.help or "" for command, spelling, option in _options() if (command, spelling) == (name, "--isolation")
    ]
    assert [text.endswith(said) for text in helps] == [True] if said is not None else helps == []


def test_an_option_has_one_reader() -> None:
    readers: dict[str, set[object]] = {}
    for _, spelling, option in _options():
        kind = option.type
        reader = type(kind).__name__ if not isinstance(kind, click.IntRange) else "IntParamType"
        reader = "IntParamType" if reader in ("IntegerParamType", "_Whole", "_WholeFrom") else reader
        readers.setdefault(spelling, set()).add((reader, option.multiple))
    assert {name: kinds for name, kinds in readers.items() if len(kinds) > 1 and name not in KNOWN} == {}


def test_a_letter_stands_for_one_option() -> None:
    letters: dict[str, set[str]] = {}
    for _, spelling, option in _options():
        if not spelling.startswith("--"):
            letters.setdefault(spelling, set()).add(option.name or "")
    assert {letter for letter, names in letters.items() if len(names) > 1} <= KNOWN.keys()
    for name in ("run", "compare", "confirm"):
        spelled = {s for command, s, _ in _options() if command == name}
        assert {"-r", "-w"} <= spelled, name


def _said(words: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    error = capfd.readouterr().err
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--runs", "3", "--max-runs", "9", "true", "true"],
        ["compare", "--runs", "3", "--min-runs", "2", "true", "true"],
        ["compare", "--any-machine", "true", "true"],
        ["compare", "-N", "--shell", "bash", "true", "true"],
        ["confirm", "--runs", "7", "--max-runs", "9", "."],
        ["machine", "--json", "--table"],
        ["knobs", "--timeout", "5s"],
        ["knobs", "--no-run"],
        ["knobs", "--no-run", "--expect", "x", "--", "true"],
        ["place", "compact", "--hosts", "a,b"],
        ["place", "compact", "--files", "x"],
        ["place", "compact", "--to", "omp", "--json"],
        ["place", "compact", "--json", "--explain"],
        ["place", "compact", "--via", "mask"],
        ["place", "compact", "--to", "omp", "--", "true"],
        ["place", "compact", "--json", "--", "true"],
        ["quiet", "--root", ".", "--seconds", "1s"],
        ["snapshot", "--through", "ssh"],
        ["snapshot", "--hosts", "n1", "--root", "."],
        ["check", "--fanout", "3"],
        ["check", "--folder", "x"],
        ["check", "--prologue", "--speed", "all"],
        ["snapshot", "--threads", "2"],
        ["snapshot", "--meet", "2000:x:n1,n2"],
        ["snapshot", "--speed", "all", "--root", "."],
        ["check", "--prologue", "--hosts", "n1"],
        ["study", "--roofline", "--blocks", "3"],
        ["study", "--roofline", "--wait-quiet", "3s"],
        ["study", "--threads", "1"],
        ["study", "is", "--result", "x.npz", "--quick"],
        ["study", "is", "--result", "x.npz", "--json"],
        ["tune", "--dry-run", "--script", "sh", "--", "true"],
        ["tune", "--dry-run", "--out", "x", "--", "true"],
        ["where", "--seconds", "3s", "--", "true"],
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "would do nothing" in _said(words, capfd)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["run", "--budget", "soon", "--", "true"], "not a duration: --budget: 'soon'"),
        (["study", "is", "--wait-quiet", "-1"], "not a duration: --wait-quiet"),
        (["where", "--interval", "x", "--", "true"], "not a duration: --interval"),
        (["quiet", "--seconds", "nan"], "not a duration: --seconds"),
        (["tune", "--within", "2", "--", "true"], "--within: not a share: '2'"),
        (["compare", "--fail-if-slower", "x", "true", "true"], "--fail-if-slower: not a share"),
        (["tune", "--tolerance", "1.5", "--same-output", "--", "true"], "--tolerance: not a share: '1.5'"),
        (["run", "--allow", "99999", "--", "true"], "99999"),
        (["snapshot", "--speed", "quick"], "--speed: no such test: 'quick'"),
        (["check", "--speed", "all", "--allow", "x"], "'x'"),
        (["snapshot", "--speed", "ping", "--meet", "x"], "--meet: not PORT:SECRET:NODES: 'x'"),
        (["check", "--speed", "ping", "--hosts", "n1", "--through", "ssh"], "pairs of nodes are measured"),
    ],
)
def test_what_is_none_is_reported_alike(words: list[str], what: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert what in _said(words, capfd)


def test_every_option_of_a_file_or_folder_refuses_an_empty_word() -> None:
    """An unset "$DIR" would otherwise mean the current directory; of --same-output nothing means all that is printed."""
    own = {"_Path", "_Place"}
    taken = {
        (command, spelling)
        for command, spelling, option in _options()
        if any(word in (option.metavar or "") for word in ("DIR", "FILE", "PATH", "MACHINE", "SNAPSHOT"))
        and type(option.type).__name__ not in own
    }
    assert {spelling for _, spelling in taken} == {"--same-output", "--script"}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["run", "--out", "", "--", "true"], "--out"),
        (["compare", "--out", "", "true", "false"], "--out"),
        (["tune", "--out=", "--", "true"], "--out"),
        (["profile", "--out", "", "--", "true"], "--out"),
        (["compare", "--export-csv", "", "true", "false"], "--export-csv"),
        (["run", "--cwd", "", "--", "true"], "--cwd"),
        (["report", ""], "DIRECTORY"),
        (["history", "--store", ""], "--store"),
        (["place", "--machine", "", "--svg", "x.svg"], "--machine"),
        (["fleet", "", ""], "DIR"),
    ],
)
def test_an_empty_word_names_no_file_and_no_folder(
    words: list[str], name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert f"{name} is empty, and names nothing" in _said(words, capfd)


def test_where_writes_no_file_called_as_its_next_word(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nodewise", "where", "--json", "--", "echo", "said"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{") and done.stderr.startswith("said\n") and list(tmp_path.iterdir()) == []


def test_a_limit_is_named_and_its_unit_may_be_small(capfd: pytest.CaptureFixture[str]) -> None:
    assert "--limit AS: not a size: 'x'" in _said(["run", "--limit", "AS=x", "--", "true"], capfd)
    from nodewise.api.options import choose_run

    assert choose_run(limits={"AS": "64k", "NOFILE": "2kib"}).options.limits == {"AS": 64 << 10, "NOFILE": 2 << 10}


def test_a_study_that_is_typed_as_a_command_is_meant(capfd: pytest.CaptureFixture[str]) -> None:
    assert "no such command: latency; did you mean `nodewise study latency`?" in _said(["latency"], capfd)
    # an option that one command alone has; of several none is meant
    assert "no such command: roofline; did you mean `nodewise study --roofline`?" in _said(["roofline"], capfd)
    assert "did you mean" not in _said(["threads"], capfd)
    assert "unknown study: 'governors'; did you mean `nodewise governors`?" in _said(["study", "governors"], capfd)


def test_figures_make_no_directories_above_their_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from tests.verdicts.cases import Runs, compared

    compared(tmp_path / "x", {"./a": Runs(1.0), "./b": Runs(1.5)})
    assert "--png: no such directory" in _said(["report", str(tmp_path / "x"), "--png", str(tmp_path / "a/b")], capfd)
    assert not (tmp_path / "a").exists()


def test_what_is_missing_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert _said(["suite"], capfd).startswith("error: missing: run, list or check\n")
    assert _said(["report"], capfd).startswith("error: missing: DIRECTORY\n")


@pytest.mark.parametrize("option", ["--axes", "--sweep"])
def test_axes_that_stand_apart_are_seen_to_be_axes(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    said = _said(["tune", option, "threads", "placement", "--", "true"], capfd)
    assert said.startswith("error: no such program: placement") and f"{option} threads,placement" in said


@pytest.mark.parametrize("option", ["-u", "--time-unit", "--style", "--sort", "--output", "--min-benchmarking-time"])
def test_options_of_hyperfine_that_show_otherwise_say_what_does(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    said = _said(["compare", option, "x", "true", "false"], capfd)
    assert said.startswith(f"error: no such option: {option}\n") and "hint: leave it out: " in said
    assert "leave it out" not in _said(["run", option, "x", "true"], capfd)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["run", "--ignore-failure=9", "true"], "hint: give --ignore-failure alone, or --accept-codes 9"),
        (["run", "-i=9", "true"], "; give -i alone, or --accept-codes 9"),
        (["compare", "--json=x", "true"], "hint: give --json alone"),
    ],
)
def test_an_option_that_takes_no_value_says_what_does(
    words: list[str], hint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _said(words, capfd).rstrip().endswith(hint)
