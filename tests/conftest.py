"""What holds for all tests: signals do here what they do at a terminal."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Heed signals again that whoever started the tests in the background had ignored: processes would inherit that."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)
