# SPDX-License-Identifier: BSD-3-Clause
"""Being asked to end is heard wherever it comes."""

import signal
import time
import weakref

import pytest

from nodewise.base.ends import ended_like_ctrl_c


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
