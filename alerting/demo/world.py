"""What the demonstration has made so far, under the names its tables use."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from alerting.models import AlertConfig
from opsapi.api.principal import Actor, Group
from opsapi.roles import Grant, Role

ALL_ROLES: Sequence[Grant] = (Grant(Role.GLOBAL_OWNER),)
"""What the one holds who sets everything up."""


@dataclass(frozen=True, slots=True)
class World:
    """`now` is the end of the story, `owner` who sets it up; the rest is found by the tables' names.

    `configs` are found by project and label, without a project global ones.
    """

    now: datetime
    owner: Actor
    orgs: dict[str, str] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    teams: dict[str, str] = field(default_factory=dict)
    actors: dict[str, Actor] = field(default_factory=dict)
    configs: dict[tuple[str | None, str], AlertConfig] = field(default_factory=dict)

    def ago(self, minutes: float) -> datetime:
        """So many minutes before the end; after it, where they are negative."""
        return self.now - timedelta(minutes=minutes)
