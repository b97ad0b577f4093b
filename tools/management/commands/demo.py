"""`manage.py demo`: fills an installation with demonstration data."""

from typing import Any

from django.core.management.base import CommandError

from accesslist.models import RoleGrant
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.management.database_command import DatabaseCommand
from opsapi.page_paths import CONSOLE_PATH
from opsapi.program import COMMAND
from tools.demo.timeline import OWNER, UNWATCHED, AlreadyFilledError, FilledDemo, WorkWaitsError, demo_fill


class Command(DatabaseCommand):
    """Adds organizations with a fleet, and a day of incidents."""

    help = "Add demo data: a fleet, a day of events, and alerts and notifications in every state."

    def handle(self, *args: Any, **options: Any) -> None:
        """Add the data, once. A second run changes nothing."""
        now = clock.now()
        try:
            filled = demo_fill(now=now)
        except AlreadyFilledError:
            self.stdout.write(
                f"The demo data already exists; nothing changed. Log in at {CONSOLE_PATH} as {OWNER}."
                f" To set a new password, run {COMMAND} reset_password {OWNER}."
            )
            return
        except WorkWaitsError:
            raise CommandError("the worker is busy with other alerts; try again in a few seconds") from None
        except ApiError as error:
            raise CommandError(f"the demo data cannot be added: {error.document()['detail']}") from None
        self._show(filled)
        until = clock.wire_time(now + UNWATCHED)
        self.stdout.write(
            f"The demo agents have stopped. They have a heartbeat timeout from {until},"
            " or as soon as any other agent reports."
        )

    def _show(self, filled: FilledDemo) -> None:
        self.stdout.write(f"Log in at {CONSOLE_PATH} as one of these users:")
        roles = dict(
            RoleGrant.objects.filter(user__username__in=filled.passwords).values_list(
                "user__username", "role"
            )
        )
        for username, password in filled.passwords.items():
            self.stdout.write(f"  {username:<24} password {password}  {roles[username]}")
        self.stdout.write(f"API key of {OWNER}: {filled.key.key.public_key}:{filled.key.private_key}")
