"""Closed sets and bounds of configurations; the values are the wire values."""

from enum import StrEnum


class Grouping(StrEnum):
    """How the messages about the alerts of a configuration are grouped; the values are wire values."""

    NONE = "NONE"
    """Each alert has its own messages."""
    TOPOLOGY = "TOPOLOGY"
    """The alerts of one outage have their messages together (docs/grouping.md)."""


GROUP_WAIT_SEC = 15
"""The default of `groupWaitSec`."""
LONGEST_GROUP_WAIT_SEC = 300


class SetupMarkName(StrEnum):
    """What a project or the installation remembers of its set-up."""

    CHANNEL_TESTED = "CHANNEL_TESTED"
    HOST_DOWN_NOTICE_DISMISSED = "HOST_DOWN_NOTICE_DISMISSED"
    CHECKLIST_DISMISSED = "CHECKLIST_DISMISSED"


class PeopleType(StrEnum):
    """Notification types for people; the other types are the channels."""

    ADMIN = "ADMIN"
    GROUP = "GROUP"
    ORG = "ORG"
    USER = "USER"
    TEAM = "TEAM"
