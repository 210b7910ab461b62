# SPDX-License-Identifier: BSD-3-Clause
"""The server of `nodewise serve`: pages for one user's browser on this machine, behind a token, read and never changed."""

from __future__ import annotations

import contextlib
import hmac
import json
import re
import secrets
import socket
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nodewise.base.errors import InputError, NodewiseError

if TYPE_CHECKING:
    from nodewise.api.serve import Served, Watched

ADDRESS = "127.0.0.1"
#: Names by which a browser of this machine, or at the other end of a tunnel, may ask: another site's name leads nowhere.
_HOSTS = (ADDRESS, "localhost")
_TOKEN_BYTES = 24
#: How many requests are answered at the same time.
_MOST_AT_ONCE = 16
#: Nobody has to wait longer for what someone else has to say, in seconds.
_WAIT_S = 10.0
#: Who has not shown the token by then, in seconds since they came, is sent away, however busily they write.
_HEAD_S = 5.0
_OWN = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#: A report is a file of an experiment's folder: its scripts reach nothing of this server.
_REPORT = (
    f"{_OWN.replace(chr(39) + 'self' + chr(39), chr(39) + 'none' + chr(39))}; sandbox allow-scripts allow-downloads"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_NAME = "[0-9a-f]{16}"
_NUMBER = "[0-9]{1,18}"


class Server(ThreadingHTTPServer):
    """It listens once it is made, on `port` (0: any that is free), and answers in threads that end with it."""

    daemon_threads = True
    # a port that another process listens on is not shared with it
    allow_reuse_port = False
    # those that come at once wait here, and not for a second attempt of their own
    request_queue_size = 128

    def __init__(self, served: Served, port: int) -> None:
        """Raises InputError where the port cannot be had."""
        self.served = served
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._lock = threading.Lock()
        self._all: set[socket.socket] = set()
        #: Those that have not shown the token, by when they came, the first one first.
        self._strangers: dict[socket.socket, float] = {}
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as problem:
            raise InputError(
                f"--port {port}: {ADDRESS}:{port} cannot be had: {problem.strerror}",
                "name another one, or none for one that is free",
            ) from problem

    @property
    def url(self) -> str:
        """What is to be opened."""
        return f"http://{ADDRESS}:{self.server_address[1]}/{self.token}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Each in a thread of its own, so many at a time; where all are busy who came first of those without the token gives way."""
        with self._lock:
            full = len(self._all) >= _MOST_AT_ONCE
            if full and self._strangers:
                self._send_away(next(iter(self._strangers)))
            elif full:
                self.shutdown_request(request)
                return
            self._all.add(request)
            self._strangers[request] = time.monotonic()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """As its base has it."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._all.discard(request)
                self._strangers.pop(request, None)

    def service_actions(self) -> None:
        """Called some times a second: who has been here for too long without showing the token goes."""
        with self._lock:
            late = [one for one, came in self._strangers.items() if time.monotonic() - came > _HEAD_S]
            for one in late:
                self._send_away(one)

    def knows(self, request: socket.socket) -> None:
        """Who sent this has the token, and the time that it takes."""
        with self._lock:
            self._strangers.pop(request, None)

    def _send_away(self, request: socket.socket) -> None:
        """Its thread reads an end, and ends."""
        self._all.discard(request)
        self._strangers.pop(request, None)
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is nothing to say anything about."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _WAIT_S
    server_version = "nodewise"
    sys_version = ""

    def parse_request(self) -> bool:
        """Only GET is answered, and only to one of the names of this machine."""
        if not super().parse_request():
            return False
        if self.command != "GET":
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED)
            return False
        hosts = self.headers.get_all("Host") or []
        try:
            known = len(hosts) == 1 and urlsplit(f"//{hosts[0]}").hostname in _HOSTS
        except ValueError:
            known = False
        if not known:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        return known

    def do_GET(self) -> None:
        """Answer, or refuse: without the token nothing is said, also not whether there is anything."""
        token, _, path = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(errors="surrogateescape"), self.server.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        self.server.knows(self.connection)
        try:
            self._answer(path)
        except NodewiseError as problem:
            self._send(HTTPStatus.NOT_FOUND, f"{problem.what}\n{problem.hint or ''}\n".encode(), "text/plain")
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        except Exception as problem:
            self._send(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                f"a defect in nodewise: {type(problem).__name__}: {problem}\n".encode(errors="replace"),
                "text/plain",
            )

    def _answer(self, path: str) -> None:
        """The page of a path below the token; what names no page of ours is not there: no path leads to a file."""
        from nodewise.report.pages.serve import live_page, live_state, overview_page

        served = self.server.served
        if not self.path.partition("?")[0].removeprefix(f"/{self.server.token}").startswith("/"):
            self.send_response(HTTPStatus.MOVED_PERMANENTLY)
            self.send_header("Location", f"/{self.server.token}/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path == "":
            found = served.overview()
            watched = [_named(one) for one in found.watched]
            self._page(overview_page(watched, found.listed, found.trends, found.missing))
        elif match := re.fullmatch(f"live/({_NAME})", path):
            self._page(live_page(*_named(served.one(match[1]))))
        elif match := re.fullmatch(rf"live/({_NAME})\.json", path):
            state = json.dumps(live_state(*_named(served.one(match[1])))).encode()
            self._send(HTTPStatus.OK, state, "application/json")
        elif match := re.fullmatch(f"page/({_NAME})", path):
            self._page(served.report_of(match[1]), _REPORT)
        elif match := re.fullmatch(f"report/({_NUMBER})", path):
            self._page(served.report(int(match[1])), _REPORT)
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _page(self, text: str, policy: str = _OWN) -> None:
        self._send(HTTPStatus.OK, text.encode(errors="replace"), "text/html", policy)

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._send(status, f"{status.phrase}\n".encode(), "text/plain")

    def _send(self, status: HTTPStatus, body: bytes, kind: str, policy: str = "default-src 'none'") -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Security-Policy": policy}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base calls it
        """Nothing is logged: the token is part of what is asked."""


def _named(one: Watched) -> tuple[str, bool, Any]:
    return one.name, one.running, one.live
