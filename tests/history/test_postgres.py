# SPDX-License-Identifier: BSD-3-Clause
"""History on a PostgreSQL server: a real one, which is started in a folder of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import nodewise
from nodewise.base.errors import InputError, StoreError, UnavailableError
from nodewise.history import database
from nodewise.history.fill import rebuild
from nodewise.history.store import Store
from nodewise.history.trend import trends_of
from tests.history.entries import entry

WRITERS = 16


def _tool(name: str) -> str | None:
    """A program of the server's, which Debian keeps out of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a server that runs as long as these tests; it listens in its folder alone."""
    pytest.importorskip("psycopg", reason="no psycopg: pip install 'nodewise[postgres]'")
    initdb, postgres = _tool("initdb"), _tool("postgres")
    if initdb is None or postgres is None:
        pytest.skip("no PostgreSQL server: install postgresql")
    # it does not run as root
    user = pwd.getpwnam("nobody").pw_name if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="nodewise-pg-", dir="/tmp"))
    if user is not None:
        shutil.chown(folder, user)
    running = None
    try:
        made = [
            initdb,
            "--pgdata",
            str(folder / "data"),
            "--auth=trust",
            "--username=nodewise",
            "--no-sync",
            "--locale=C",
        ]
        subprocess.run([*made, "--encoding=UTF8"], check=True, capture_output=True, user=user, cwd="/")
        settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-k", str(folder)]
        running = subprocess.Popen(
            [postgres, "-D", str(folder / "data"), *settings],
            user=user,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=(folder / "log").open("w"),
        )
        url = f"postgresql://nodewise@/postgres?host={folder}"
        for _ in range(200):
            try:
                Store(url).close()
                break
            except StoreError:
                assert running.poll() is None, (folder / "log").read_text()
                subprocess.run(["sleep", "0.05"], check=True)
        yield url
    finally:
        if running is not None:
            running.terminate()
            running.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def place(server: str) -> str:
    """An empty history."""
    with Store(server) as store:
        store.clear()
    return server


@pytest.mark.long
def test_what_is_put_in_comes_back(place: str) -> None:
    made = [entry(i, 1.0 if i < 20 else 1.2, sentence="said 'so' %s ?", folder="/some/where") for i in range(40)]
    with Store(place) as store:
        assert store.add(made) == 40
        assert store.add(made[:3]) == 3
        numbers = sorted(row[1] for row in store.points([s.number for s in store.series()]))
        assert store.entry(numbers[0]) == made[0]
        (trend,) = trends_of(store, "solver").trends
        assert len(trend.points) == 40
        assert [m.ratio for m in trend.marks] == [pytest.approx(1 / 1.2, rel=0.02)]
        with pytest.raises(InputError, match="no experiment"):
            store.entry(10**9)


@pytest.mark.long
def test_both_databases_say_the_same(place: str, tmp_path: Path) -> None:
    made = [entry(i, 1.0 if i % 40 < 20 else 1.2, f"./solver {i // 40}") for i in range(120)]
    found = []
    for one in (place, str(tmp_path / "h.sqlite")):
        with Store(one) as store:
            store.add(made)
            found.append([(t.name, len(t.points), [m.word for m in t.marks]) for t in trends_of(store).trends])
    assert found[0] == found[1]


@pytest.mark.long
def test_sixteen_processes_write_at_once(place: str) -> None:
    children = []
    for number in range(WRITERS):
        if not (child := os.fork()):
            code = 1
            try:
                with Store(place) as store:
                    # each makes what all need, in another order
                    for i in [(number + j) % 8 for j in range(8)]:
                        store.add([entry(i, 1.0, f"./solver {number}"), entry(0, 1.0, f"./shared {i}")])
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * WRITERS
    with Store(place) as store:
        assert len(store.keys()) == 8 * WRITERS + 8
        assert len(store.series()) == WRITERS + 8


@pytest.mark.long
def test_an_experiment_is_put_in(place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NODEWISE_HISTORY", place)
    notes: list[str] = []
    nodewise.run("sleep 0.01", runs=2, out=tmp_path / "r", accept_disturbed=True, note=lambda n: notes.append(str(n)))
    assert not [n for n in notes if "history" in n]
    with Store(place) as store:
        assert [s.name for s in store.series()] == ["sleep 0.01"]
    filled = rebuild(place, [tmp_path])
    assert (filled.experiments, filled.gone, filled.kept_as) == (1, 0, None)


@pytest.mark.long
def test_another_schema_is_not_touched(place: str) -> None:
    import psycopg

    with psycopg.connect(place, autocommit=True) as own:
        own.execute("UPDATE nodewise_schema SET version = 99")
        with pytest.raises(InputError, match="newer nodewise"):
            Store(place)
        own.execute("UPDATE nodewise_schema SET version = %s", (database.SCHEMA,))


@pytest.mark.long
def test_an_older_schema_is_converted(place: str) -> None:
    import psycopg

    with Store(place) as store:
        store.add([entry(1, 2.0)])
    with psycopg.connect(place, autocommit=True) as own:
        own.execute("DROP TABLE learned")
        own.execute("UPDATE nodewise_schema SET version = 1")
    with Store(place) as store, Store(place):
        # the server numbers on from what the tests before have made
        ((_, number, *_),) = store.points([s.number for s in store.series()])
        assert store.entry(number) == entry(1, 2.0)
        assert store.learned("solver", ["libgomp"], "seconds", 3) == []
    with psycopg.connect(place, autocommit=True) as own:
        assert own.execute("SELECT version FROM nodewise_schema").fetchall() == [(database.SCHEMA,)]


@pytest.mark.long
def test_what_goes_wrong_on_it_is_one_message(place: str) -> None:
    import psycopg

    store = Store(place)
    with psycopg.connect(place, autocommit=True) as own:
        own.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    with pytest.raises(StoreError, match="cannot be used"):
        store.latest()
    store.close()


def test_a_server_that_is_not_there_is_one_message_without_the_password() -> None:
    pytest.importorskip("psycopg", reason="no psycopg: pip install 'nodewise[postgres]'")
    with pytest.raises(StoreError, match="cannot be reached") as problem:
        Store("postgresql://me:zqgeheimzq@127.0.0.1:1/nothing")
    assert "zqgeheimzq" not in str(problem.value)


def test_without_psycopg_it_is_said_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(UnavailableError, match="psycopg") as problem:
        Store("postgresql://me@host/db")
    assert "nodewise[postgres]" in str(problem.value.hint)
