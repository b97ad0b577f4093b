"""`manage.py demo`: fills an empty installation with something to look at."""

from typing import Any

from django.core.management.base import CommandError

from accesslist.models import Project, User
from alerting.demo.fill import UNWATCHED, Told, demo_fill
from opsapi import clock
from opsapi.console.path import CONSOLE_PATH
from opsapi.management.with_database import DatabaseCommand


class Command(DatabaseCommand):
    """Three organizations with a fleet, and a day in which things went wrong and were dealt with."""

    help = "Fill an empty installation with a fleet, a day of events, and alerts and messages in every state."

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuses an installation in which anything stands."""
        if Project.objects.exists() or User.objects.exists():
            raise CommandError("this installation is not empty: the demonstration fills only an empty one")
        now = clock.now()
        self._tell(demo_fill(now=now))
        until = clock.wire_time(now + UNWATCHED)
        self.stdout.write(
            f"Its agents report no more. This is silence from {until} on, or once another agent reports."
        )

    def _tell(self, told: Told) -> None:
        self.stdout.write(f"Log in at {CONSOLE_PATH} as one of these, the first may do everything:")
        for username, password in told.passwords.items():
            self.stdout.write(f"  {username:<28} password {password}")
        if told.key:
            self.stdout.write(f"API key of demo: {told.key.key.public_key}:{told.key.private_key}")
