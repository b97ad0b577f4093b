"""Signals for other packages, sent inside the transaction of the service."""

from django.dispatch import Signal

set_alerts_asked = Signal()
"""Sent with `group_id` and `replica_set`: receivers return the open alerts of the replica set.

Each is an event type of category REPLICA_SET, and when its condition began.
"""

turn_ended = Signal()
"""Sent with `group_id` and `now` when an agent gives back a turn: its planned time has changed."""

host_deleting = Signal()
"""Sent with `host` (the row, not yet locked), `actor` and `now`."""

agents_deleting = Signal()
"""Sent with `group_id`, the `agents` (rows, not yet locked), `actor` and `now`."""

sets_deleting = Signal()
"""Sent with `group_id`, the `replica_sets` and `clusters` (rows without hosts), `actor` and `now`."""

host_moving = Signal()
"""Sent when the address of a host changes, with `host` (the old row, not yet locked), `actor` and `now`.

Receivers that identify hosts by address must release the old one: no report will name it again.
"""
