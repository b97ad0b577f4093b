"""`manage.py demo`: fills an installation with demonstration data."""

from typing import Any

from django.core.management.base import CommandError

from accesslist.models import RoleGrant
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.management.database_command import DatabaseCommand
from opsapi.page_paths import CONSOLE_PATH
from opsapi.program import COMMAND
from tools.demo.timeline import AlreadyFilledError, FilledDemo, WorkWaitsError, demo_fill


class Command(DatabaseCommand):
    """Adds organizations with a fleet, and a day of incidents."""

    help = "Add demo data: a fleet, a day of events, and alerts and notifications in every state."

    def handle(self, *args: Any, **options: Any) -> None:
        """Add the data once. A second run changes nothing."""
        try:
            filled = demo_fill(now=clock.now())
        except AlreadyFilledError as found:
            self.stdout.write(_already(found))
            return
        except WorkWaitsError:
            raise CommandError("the worker is busy with other alerts; try again in a few seconds") from None
        except ApiError as error:
            raise CommandError(
                f"the demonstration cannot be added, and nothing was added: {error.document()['detail']}"
                f" Change this, then run {COMMAND} demo again."
            ) from None
        self._show(filled)

    def _show(self, filled: FilledDemo) -> None:
        self.stdout.write(f"Log in at {CONSOLE_PATH} as one of these users:")
        roles = dict(
            RoleGrant.objects.filter(user__username__in=filled.passwords).values_list(
                "user__username", "role"
            )
        )
        for username, password in filled.passwords.items():
            self.stdout.write(f"  {username:<24} password {password}  {roles[username]}")
        owner = next(iter(filled.passwords))
        self.stdout.write(f"API key of {owner}: {filled.key.key.public_key}:{filled.key.private_key}")
        self.stdout.write(
            f"Projects: {', '.join(filled.projects)}. To remove the demonstration, delete them."
        )
        self.stdout.write("The agents of the demonstration do not report, and have no heartbeat timeouts.")


def _already(found: AlreadyFilledError) -> str:
    there = f"The demonstration is already there, in {', '.join(found.projects)}; nothing changed."
    if found.owner is None:
        return there
    return (
        f"{there} Log in at {CONSOLE_PATH} as {found.owner}."
        f" To set a new password, run {COMMAND} reset_password {found.owner}."
    )
