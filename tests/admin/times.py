"""Moments of tests that move the clock."""

from datetime import UTC, datetime

# Ahead of the present: nonces from before the database was created are stale.
NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
