# SPDX-License-Identifier: BSD-3-Clause
"""An end that is asked for while a loop of asyncio runs: its task is cancelled, and ends what it started, before that goes on."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Coroutine
from typing import Any

from nodewise.base.ends import AT_ONCE_S, ENDS


def run_interruptibly(asked: Coroutine[Any, Any, None]) -> None:
    """Run it in a loop of its own. A signal that asks for an end cancels it, and is raised anew once the loop is closed.

    Raised in the middle of the loop it would break off what ends the tasks.
    """
    heard: list[int] = []
    asyncio.run(_cancelled_by_signals(asked, heard))
    if heard:
        signal.raise_signal(heard[0])


async def _cancelled_by_signals(asked: Coroutine[Any, Any, None], heard: list[int]) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(asked)
    last = float("-inf")

    def hear(number: int) -> None:
        nonlocal last
        now, before = time.monotonic(), last
        last = now
        heard.append(number)
        if now - before >= AT_ONCE_S:
            task.cancel()

    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {s: h for s in ENDS if (h := signal.getsignal(s)) not in (signal.SIG_IGN, signal.SIG_DFL, None)}
        for number in handlers:
            loop.add_signal_handler(number, hear, number)
    try:
        await task
    except asyncio.CancelledError:
        if not heard:
            raise
    finally:
        for number, handler in handlers.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
