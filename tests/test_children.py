"""Processes that we start, and Ctrl-C meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from soloist.children import deaf


def test_ctrl_c_is_put_off_although_another_thread_hears_it() -> None:
    """A mask holds for one thread: with a second one, the handler used to run in the first one all the same."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    reached = []

    def work() -> None:
        with deaf():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # it has come by then, as a rule: without `deaf` this is where it would end
            reached.append("the end")

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        over.set()
        thread.join()
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_ctrl_c_everything_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with deaf():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
