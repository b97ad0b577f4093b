"""`manage.py measurement_disk`: shows the disk that measurements take, and that other settings would need."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.template.defaultfilters import filesizeformat

from automation.choices import Tier
from automation.measurements.disk import SETTINGS, measurement_disk

_OPTIONS = {Tier.RAW: "raw_days", Tier.PT5M: "pt5m_days", Tier.PT1H: "pt1h_days"}
_UNKNOWN = "unknown"


class Command(BaseCommand):
    """The figures are computed from the newest days that are packed."""

    help = "Show the disk that measurements take, and the disk that the days of each tier need."

    def add_arguments(self, parser: CommandParser) -> None:
        for tier, name in _OPTIONS.items():
            option = f"--{name.replace('_', '-')}"
            parser.add_argument(
                option, type=int, metavar="DAYS", choices=range(3651), help=f"instead of {SETTINGS[tier]}"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a row for each tier, and the sum."""
        given = {tier: options[name] for tier, name in _OPTIONS.items() if options[name] is not None}
        disks = measurement_disk(given)
        rows = [("tier", "days", "stored", "a packed day", "needed")]
        for disk in disks:
            days = str(disk.days) if disk.days else "forever" if disk.tier is Tier.RAW else "off"
            needed = "no limit" if days == "forever" else _bytes(disk.needed)
            rows.append((disk.tier.value, days, _bytes(disk.stored), _bytes(disk.a_day), needed))
        needs = [disk.needed for disk in disks]
        known = [needed for needed in needs if needed is not None]
        total = _bytes(sum(known)) if len(known) == len(needs) else _UNKNOWN
        rows.append(("all", "", _bytes(sum(disk.stored for disk in disks)), "", total))
        for row in rows:
            self.stdout.write("  ".join(text.ljust(14) for text in row).rstrip())


def _bytes(number: float | None) -> str:
    return _UNKNOWN if number is None else filesizeformat(number).replace("\xa0", " ")
