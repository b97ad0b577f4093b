"""`manage.py move_measurements`: moves what earlier versions measured, without the worker's pauses."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from automation.services.old_measurements import old_measurements_left, old_measurements_move


class Command(BaseCommand):
    """Workers do the same in the background; it can be stopped and repeated at any time."""

    help = (
        "Move the measurements of earlier versions to where they are kept now; may be stopped and repeated."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What to do."""
        parser.add_argument("--left", action="store_true", help="only say how many are left")

    def handle(self, *args: Any, left: bool, **options: Any) -> None:
        """Batch after batch, each of which commits by itself."""
        moved = 0
        while not left and (batch := old_measurements_move()):
            moved += batch
            self.stdout.write(f"{moved} moved")
        waiting = old_measurements_left()
        self.stdout.write(f"about {waiting} are left" if waiting else "none is left")
