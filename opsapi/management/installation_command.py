"""The base of commands that check the installation first: its settings and packages."""

from typing import Any

from django.core.checks import CheckMessage, run_checks
from django.core.management.base import BaseCommand, CommandError

from opsapi.apps import INSTALLATION


class InstallationCommand(BaseCommand):
    """A command that runs the checks of the installation. Each problem is one line."""

    requires_system_checks = [INSTALLATION]

    def check(self, *_args: Any, **_options: Any) -> None:
        """Print the warnings. Raises CommandError, one line: an error prevents the start."""
        problems = [problem for problem in run_checks(tags=[INSTALLATION]) if not problem.is_silenced()]
        for problem in problems:
            if not problem.is_serious():
                self.stderr.write(f"WARNING: {_line(problem)}")
        if errors := [_line(problem) for problem in problems if problem.is_serious()]:
            raise CommandError("; ".join(errors))


def _line(problem: CheckMessage) -> str:
    return " ".join(str(problem.msg).split()) + f" ({problem.id}): {problem.hint}"
