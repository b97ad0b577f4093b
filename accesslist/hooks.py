"""What packages to the left can react to, inside the service's transaction (architecture, inversion 2)."""

from django.dispatch import Signal

group_created = Signal()
"""Sent with `project` (the row), `actor` and `now`."""
