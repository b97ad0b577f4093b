"""The event log and the signals in the console, read-only."""

from events.admin.log import EventAdmin, SignalAdmin

__all__ = ["EventAdmin", "SignalAdmin"]
