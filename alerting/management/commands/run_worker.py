"""`manage.py run_worker`: evaluates signals and sends notifications, until SIGTERM."""

import os
import signal
import socket
from typing import Any

from alerting.engine.worker import Worker
from opsapi.encryption import newest_key
from opsapi.management.installation_command import InstallationCommand

_STOPPING = (signal.SIGTERM, signal.SIGINT)


class Command(InstallationCommand):
    """Any number of workers can run, on any number of machines with the same database."""

    help = "Evaluate signals and send notifications until SIGTERM or Ctrl-C. You can run several workers."

    def handle(self, *args: Any, **options: Any) -> None:
        newest_key()  # without a key it ends with one line
        # Blocked before threads start, and waited for: a handler could run while its own thread holds
        # the lock that stopping needs.
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
        Worker(f"{socket.gethostname()}:{os.getpid()}").run(_stop_within)


def _stop_within(seconds: float) -> bool:
    received = signal.sigtimedwait(_STOPPING, seconds)
    # Of a process that was stopped until after `seconds` and continued, Python answers a signal that is none.
    return received is not None and received.si_signo in _STOPPING
