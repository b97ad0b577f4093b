"""Signals for other packages, sent inside the transaction of the service."""

from django.dispatch import Signal

group_created = Signal()
"""Sent with `project` (the row), `actor` and `now`."""

group_retagging = Signal()
"""Sent before the tags of a project may change, with `project` (not yet locked), `tags`, `actor`, `now`."""

change_recorded = Signal()
"""Sent with `group_id` and the `events` of a change in a project, after they are recorded."""

group_deleting = Signal()
"""Sent with `project` (the row, not yet locked), `actor` and `now`."""

user_deleting = Signal()
"""Sent with `user` (the row, locked), `actor` and `now`."""

team_deleting = Signal()
"""Sent with `team` (the row, locked), `actor` and `now`."""
