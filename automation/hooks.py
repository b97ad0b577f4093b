"""What packages to the left can react to, inside the service's transaction (architecture, inversion 2)."""

from django.dispatch import Signal

host_deleting = Signal()
"""Sent with `host` (the row, locked only afterwards), `actor` and `now`."""

agent_deleting = Signal()
"""Sent with `agent` (the row, locked only afterwards), `actor` and `now`."""

host_moving = Signal()
"""Sent when a host gets another address, with `host` (the row before, not yet locked), `actor` and `now`.

Who tells hosts by their address has to let go of the old one: no report will name it again.
"""
