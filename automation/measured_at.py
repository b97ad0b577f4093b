"""Identifies the measurements of a report. Pure."""

from datetime import datetime
from typing import NamedTuple


class MeasuredAt(NamedTuple):
    """The time of a report and its number, which distinguishes reports of the same microsecond."""

    reported: datetime
    report: int

    @property
    def wire(self) -> str:
        """The form in signals."""
        return f"{self.reported.isoformat()} {self.report}"

    @classmethod
    def read(cls, wire: str) -> "MeasuredAt":
        """Parse the output of `wire`."""
        reported, report = wire.split(" ")
        return cls(datetime.fromisoformat(reported), int(report))
