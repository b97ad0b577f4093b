"""What packages to the left can react to, inside the service's transaction (architecture, inversion 2)."""

from django.dispatch import Signal

group_created = Signal()
"""Sent with `project` (the row), `actor` and `now`."""

group_retagging = Signal()
"""Sent when a project may get other tags, with `project` (the row before, not yet locked), `tags`, `actor`
and `now`."""

group_deleting = Signal()
"""Sent with `project` (the row, locked only afterwards), `actor` and `now`."""

user_deleting = Signal()
"""Sent with `user` (the row, locked), `actor` and `now`."""

team_deleting = Signal()
"""Sent with `team` (the row, locked), `actor` and `now`."""
