"""`manage.py run_worker`: evaluates signals and sends notifications, until SIGTERM."""

import os
import signal
import socket
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from alerting.worker import Worker


class Command(BaseCommand):
    """Any number of workers may run, on any number of machines with the same database."""

    help = "Evaluate signals and send notifications until SIGTERM or Ctrl-C; may run many times."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until told to stop; what is in hand is finished."""
        worker = Worker(f"{socket.gethostname()}:{os.getpid()}")

        def stop(_signal: int, _frame: FrameType | None) -> None:
            worker.stop()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        worker.run()
