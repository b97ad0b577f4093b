"""Which report's measurements are meant. Pure."""

from datetime import datetime
from typing import NamedTuple


class MeasuredAt(NamedTuple):
    """When a report was taken, and its number, which tells apart those of one microsecond."""

    reported: datetime
    report: int

    @property
    def wire(self) -> str:
        """As signals carry it."""
        return f"{self.reported.isoformat()} {self.report}"

    @classmethod
    def read(cls, wire: str) -> "MeasuredAt":
        """What `wire` wrote."""
        reported, report = wire.split(" ")
        return cls(datetime.fromisoformat(reported), int(report))
