"""`python -m tests.processes.forking`: loads the application once and forks a worker for each line `start`.

The line `wait <process id>` is answered with the exit status of that worker. Workers end with this process.
"""

import os
import signal
import sys
from importlib import import_module

import django
from django.core.management import call_command

from opsapi.libc import die_with
from opsapi.program import importing


def main() -> None:
    """Serve until the standard input ends; a forked worker returns when it has finished."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsapi.settings")
    with importing():
        django.setup()
        for name in ("opsapi.urls", "alerting.management.commands.run_worker"):
            import_module(name)
    # Workers inherit the mask, so a signal that arrives early is not lost.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
    parent = os.getpid()
    for line in sys.stdin:
        command, *of_worker = line.split()
        if command == "start":
            answer = os.fork()
            if not answer:
                die_with(parent, signal.SIGKILL)
                call_command("run_worker")
                return
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(int(of_worker[0]), 0)[1])
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
