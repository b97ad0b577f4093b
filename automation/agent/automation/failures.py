"""Why a move ends early."""

from __future__ import annotations


class MoveFailed(Exception):  # noqa: N818 - what happened
    """A move failed; the message says why, without secrets, and stops the plan."""


class MoveDelayed(Exception):  # noqa: N818 - what happened
    """A move changed nothing and can succeed later; the message says why, without secrets."""


class TurnLost(Exception):  # noqa: N818 - what happened
    """The agent does not hold the turn any more: it must not disturb the process."""
