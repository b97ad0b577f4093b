"""`manage.py move_measurements`: moves the measurements of earlier versions without the worker's pauses."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from automation.measurements.moving import old_measurements_left, old_measurements_move


class Command(BaseCommand):
    """Workers do the same in the background. You can stop and repeat the command at any time."""

    help = (
        "Move measurements that earlier versions stored to the current tables. You can stop and repeat "
        "the command."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--left", action="store_true", help="only print the number of rows that are left")

    def handle(self, *args: Any, left: bool, **options: Any) -> None:
        """Move batch after batch; each batch commits on its own."""
        moved = 0
        while not left and (batch := old_measurements_move()):
            moved += batch
            self.stdout.write(f"{moved} moved")
        waiting = old_measurements_left()
        self.stdout.write(f"about {waiting} left" if waiting else "none left")
