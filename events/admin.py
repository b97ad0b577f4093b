"""Registers the pages of all slices with the console."""

from events.log.console import EventAdmin
from events.outbox.console import SignalAdmin

__all__ = ["EventAdmin", "SignalAdmin"]
