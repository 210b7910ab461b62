# SPDX-License-Identifier: BSD-3-Clause
"""`nodewise serve`: who is answered, what is answered, and that it ends well."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from nodewise.api.serve import Served
from nodewise.cli.main import main
from nodewise.cli.served import Server
from nodewise.history.store import Store
from nodewise.report.pages.write import write_page
from tests.history.entries import entry
from tests.report.gallery import running_tune
from tests.started import Begun
from tests.verdicts.cases import Runs, compared

Ask = Callable[..., tuple[int, str, dict[str, str]]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """One with a tune that is not over, and two experiments in its history, of which one has a report."""
    running_tune(tmp_path / "runs/tune")
    compared(tmp_path / "kept", {"./a": Runs(1.0), "./b": Runs(2.0)})
    write_page(tmp_path / "kept")
    with Store(str(tmp_path / "h.sqlite")) as store:
        store.add([entry(1, 1.0, folder=str(tmp_path / "kept")), entry(2, 1.0, folder=str(tmp_path / "gone"))])
    with Server(Served(str(tmp_path / "h.sqlite"), [tmp_path / "runs"]), 0) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def ask(server: Server) -> Ask:
    """The status, the text and the headers that answer a path below the token, or one that begins with /."""

    def asked(path: str = "", method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
        url = urlsplit(server.url)
        connection = http.client.HTTPConnection("127.0.0.1", url.port, timeout=20)
        connection.request(method, path if path.startswith("/") else url.path + path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, dict(answer.headers)

    return asked


def test_the_front_page_has_what_is_watched_and_what_is_in_the_history(server: Server, ask: Ask) -> None:
    status, text, headers = ask()
    assert status == 200 and headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    assert 'href="report/1"' in text and "./solver a" in text and "not running" in text
    (name,) = server.served._names()
    assert f'href="live/{name}"' in text


def test_the_state_of_a_tune_is_a_page_and_json(server: Server, ask: Ask, tmp_path: Path) -> None:
    (name,) = server.served._names()
    status, page, _ = ask(f"live/{name}")
    assert status == 200 and "12 blocks" in page and "7 blocks" in page and "1.67×" in page
    told = json.loads(ask(f"live/{name}.json")[1])
    assert told["running"] is False and "7 blocks" in told["body"] and told["body"] in page
    # a line more, and it is there the next time
    with (tmp_path / "runs/tune/samples.jsonl").open("r+") as file:
        lines = file.read().splitlines(keepends=True)
        # another run, and not the same one twice
        file.write(json.dumps(json.loads(lines[-1]) | {"block": 99}) + "\n")
    runs = len([line for line in lines if '"seconds"' in line])
    end = time.monotonic() + 20
    # a moment later: reading it took time, which is not spent again at once
    while f"<b>{runs + 1}</b>" not in json.loads(ask(f"live/{name}.json")[1])["body"]:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_report_is_shown_in_a_sandbox_and_one_that_is_not_here_is_said_so(ask: Ask) -> None:
    status, text, headers = ask("report/1")
    assert status == 200 and "./b" in text
    assert "sandbox" in headers["Content-Security-Policy"] and "'self'" not in headers["Content-Security-Policy"]
    for path, said in (
        ("report/2", "is not here"),
        ("report/3", "has no experiment 3"),
        ("live/" + "0" * 16, "no such"),
    ):
        status, text, _ = ask(path)
        assert status == 404 and said in text


def test_who_has_no_token_is_refused_and_told_nothing(server: Server, ask: Ask) -> None:
    wrong = server.token[:-1] + ("a" if server.token[-1] != "a" else "b")
    refused = [ask(path) for path in ("/", "/x/", f"/{wrong}/", f"/{server.token}x/", "/report/1", "/%C3%BC/")]
    assert {(status, text) for status, text, _ in refused} == {(403, "Forbidden\n")}


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::1]", "", "127.0.0.2"]
)
def test_another_host_is_refused(ask: Ask, host: str) -> None:
    assert ask(Host=host)[0] == 421
    assert ask(Host="localhost:8080")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"])
def test_nothing_but_get_is_answered(ask: Ask, method: str) -> None:
    status, _, headers = ask(method=method)
    assert status == 405 and headers["Allow"] == "GET"


@pytest.mark.parametrize(
    "path",
    [
        "../kept/report.html",
        "report/../../etc/passwd",
        "report/1/..",
        "page/..%2f..%2fkept",
        "live/%2e%2e",
        "report/1%00",
    ],
)
def test_no_path_leads_to_a_file(ask: Ask, path: str) -> None:
    assert ask(path)[:2] == (404, "Not Found\n")


def test_without_a_history_the_page_says_so(tmp_path: Path) -> None:
    found = Served(str(tmp_path / "none.sqlite")).overview()
    assert found.trends is None and found.missing
    assert Served(None).overview().missing == "history is turned off (NODEWISE_HISTORY=off)"


def test_what_is_unchanged_or_was_just_read_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running_tune(tmp_path / "tune")
    now, reads = [0.0], []
    served = Served(None, [tmp_path], clock=lambda: now[0])
    (name,) = served._names()
    from nodewise.api import serve

    def slow(folder: Path) -> object:
        reads.append(folder)
        now[0] += 1.0
        return real(folder)

    real = serve.read_live
    monkeypatch.setattr(serve, "read_live", slow)
    served.one(name), served.one(name)
    now[0] += 1000
    served.one(name)
    assert len(reads) == 1
    os.utime(tmp_path / "tune/samples.jsonl", (1, 1))
    served.one(name)
    # a second of reading is paid by fifty without
    os.utime(tmp_path / "tune/samples.jsonl", (2, 2))
    now[0] += 45
    served.one(name)
    assert len(reads) == 2
    now[0] += 6
    served.one(name)
    assert len(reads) == 3


def test_the_printed_address_works_and_ctrl_c_ends_it_well(tmp_path: Path) -> None:
    process = Begun("serve", "--store", str(tmp_path / "h.sqlite"), cwd=tmp_path, text=True)
    assert process.stdout is not None
    url = urlsplit(process.stdout.readline().split()[1])
    connection = http.client.HTTPConnection("127.0.0.1", url.port, timeout=20)
    connection.request("GET", url.path)
    answer = connection.getresponse()
    text = answer.read().decode()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert answer.status == 200 and "Watched now" in text
    assert (process.returncode, err) == (0, "") and out.endswith("ended\n")


def _dribble(port: int) -> socket.socket:
    """Somebody who has connected and sent one byte."""
    made = socket.create_connection(("127.0.0.1", port), timeout=20)
    made.sendall(b"G")
    return made


def test_who_has_no_token_keeps_nobody_out(server: Server, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    # nobody goes by himself
    monkeypatch.setattr("nodewise.cli.served._HEAD_S", 600.0)
    with contextlib.ExitStack() as held:
        strangers = [held.enter_context(contextlib.closing(_dribble(server.server_address[1]))) for _ in range(40)]
        assert ask()[0] == 200
        # of these the first ones gave way; what they sent may not even have been read
        with contextlib.suppress(ConnectionResetError):
            assert strangers[0].recv(1) == b""
        assert len(server._all) <= 16


def test_a_head_that_is_never_whole_is_not_waited_for(
    server: Server, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodewise.cli.served._HEAD_S", 0.5)
    begin = time.monotonic()
    with contextlib.closing(_dribble(server.server_address[1])) as stranger:
        # a byte now and then is none of the ways to stay
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() - begin < 8:
                stranger.sendall(b"E")
                time.sleep(0.1)
        assert time.monotonic() - begin < 8
    end = time.monotonic() + 20
    while server._all and time.monotonic() < end:
        time.sleep(0.02)
    assert not server._all and ask()[0] == 200


def test_who_has_the_token_does_not_give_way(server: Server, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodewise.cli.served._HEAD_S", 0.3)
    overview, go_on = server.served.overview, threading.Event()

    def slow() -> object:
        go_on.wait(20)
        return overview()

    monkeypatch.setattr(server.served, "overview", slow)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(ask()[0])) for _ in range(16)]
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + 20
        while (len(server._all) < 16 or server._strangers) and time.monotonic() < end:
            time.sleep(0.02)
        with contextlib.closing(socket.create_connection(server.server_address, timeout=20)) as refused:
            assert refused.recv(1) == b""
        time.sleep(0.7)
    finally:
        go_on.set()
        for thread in threads:
            thread.join()
    assert answers == [200] * 16


def test_a_report_of_gigabytes_is_not_read(tmp_path: Path, server: Server, ask: Ask) -> None:
    with (tmp_path / "kept/report.html").open("wb") as file:
        file.truncate(20 << 30)
    tracemalloc.start()
    try:
        status, text, _ = ask("report/1")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert status == 404 and "too long to be shown" in text
    assert peak < 32 << 20


NOTHING_TO_WRITE_IN = "import sys, tempfile\nfrom nodewise.cli.main import main\ntempfile._candidate_tempdir_list = lambda: ['/proc']\nsys.exit(main(sys.argv[1:]))"


def test_without_a_browser_to_open_nothing_is_written(tmp_path: Path) -> None:
    words = [sys.executable, "-c", NOTHING_TO_WRITE_IN, "serve", "--store", str(tmp_path / "h.sqlite")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("serving")
    # its second line, after which it answers
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert (process.returncode, err, out) == (0, "", "ended\n")
    done = subprocess.run([*words, "--open"], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr.startswith("error: no temporary file can be written"), done.stderr
    assert done.stdout == ""


def test_what_cannot_be_served_is_said(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(tmp_path / "nowhere")]) == 2
    assert "no such directory" in capsys.readouterr().err
    port = str(server.server_address[1])
    assert main(["serve", "--port", port]) == 2
    assert f"--port {port}: 127.0.0.1:{port} cannot be had" in capsys.readouterr().err
