# SPDX-License-Identifier: BSD-3-Clause
"""Being asked to end is heard wherever it comes."""

import signal
import threading
import time
import weakref

import pytest

from nodewise.base import ends
from nodewise.base.ends import ended_like_ctrl_c, heard_later, tell_first, told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_what_comes_while_an_object_ends_is_heard_a_moment_later(
    capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    class Thing:
        pass

    thing = Thing()
    watched = weakref.ref(thing, lambda _: signal.raise_signal(number))
    # whoever runs the tests in the background has it ignored
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with ended_like_ctrl_c():
            # what is raised in there is dropped
            del thing
            assert watched() is None
            begin = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                time.sleep(10)
            # what waits is woken
            assert time.monotonic() - begin < 5
    finally:
        signal.signal(number, before)
    assert capsys.readouterr().err == ""


def test_what_comes_while_it_is_to_be_heard_later_is_heard_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the thread that sends the signal again may be there before the main one goes on."""
    started = []

    class Slow(threading.Timer):
        def start(self) -> None:
            super().start()
            started.append(self)
            if len(started) < 3:
                self.join(5)
                time.sleep(0.01)

    monkeypatch.setattr(ends.threading, "Timer", Slow)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with ended_like_ctrl_c():
            thing = type("Thing", (), {})()
            watched = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))
            begin = time.monotonic()
            del thing
            assert watched() is None
            with pytest.raises(KeyboardInterrupt):
                time.sleep(10)
            assert time.monotonic() - begin < 5 and len(started) >= 3
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_is_sent_at_once_is_one_request() -> None:
    """A closing terminal sends HUP and TERM: the second must not break off what answers the first."""
    before = {s: signal.signal(s, signal.SIG_DFL) for s in (signal.SIGTERM, signal.SIGHUP)}
    answered = []
    try:
        with ended_like_ctrl_c():
            try:
                signal.raise_signal(signal.SIGHUP)
            except KeyboardInterrupt:
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGINT)
                answered.append(True)
            time.sleep(0.15)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert answered == [True]


def test_what_must_be_whole_is_made_before_it_is_heard() -> None:
    made = []
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with ended_like_ctrl_c(), pytest.raises(KeyboardInterrupt):
            with heard_later() as heard:
                signal.raise_signal(signal.SIGTERM)
                made.append([*heard])
            made.append("not reached")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert made == [[signal.SIGTERM]]


def test_an_end_waits_until_the_answer_is_told() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    answered: list[str] = []
    try:
        with ended_like_ctrl_c():
            tell_first(lambda: bool(answered))
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            time.sleep(0.11)
            answered.append("faster")
            signal.raise_signal(signal.SIGTERM)
            assert told() and not told()
            time.sleep(0.11)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            tell_first(lambda: True)
        assert not ends._telling.answered()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_it_does_not_wait_for_who_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "_TO_TELL_S", 0.2)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with ended_like_ctrl_c():
            tell_first(lambda: True)
            begin = time.monotonic()
            signal.raise_signal(signal.SIGTERM)
            with pytest.raises(KeyboardInterrupt):
                time.sleep(20)
            assert time.monotonic() - begin < 10
    finally:
        signal.signal(signal.SIGTERM, before)


def test_its_end_is_heard_also_where_it_was_asked_for_a_moment_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal that ends the waiting is no repetition of one that came just before it."""
    monkeypatch.setattr(ends, "_TO_TELL_S", 0.3)
    # whatever is sent within this time of another is one request
    monkeypatch.setattr(ends, "AT_ONCE_S", 60.0)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with ended_like_ctrl_c():
            tell_first(lambda: True)
            signal.raise_signal(signal.SIGTERM)
            with pytest.raises(KeyboardInterrupt):
                time.sleep(8)
    finally:
        signal.signal(signal.SIGTERM, before)
