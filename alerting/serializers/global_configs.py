"""Global alert configurations as the API shows and accepts them."""

from collections.abc import Iterable
from typing import Any

from alerting.serializers.configs import AnyAlertConfigDocument
from events.types import EventType
from integrations.channels.email import EMAIL
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import BadField
from opsapi.api.examples import A_TIME, AN_ID, self_link
from opsapi.api.fields import Flag, Identifier, ListOf, Text

_MOST_TAGS = 50  # as many as a project can bear


class GlobalAlertConfigDocument(AnyAlertConfigDocument):
    """A global alert configuration."""

    order = (
        "created",
        "enabled",
        "eventTypeName",
        "forAllGroups",
        "groupIds",
        "id",
        "links",
        "matchers",
        "metricThreshold",
        "notifications",
        "threshold",
        "tags",
        "typeName",
        "updated",
    )
    request_example = {
        "eventTypeName": EventType.BACKUP_AGENT_DOWN.value,
        "enabled": True,
        "forAllGroups": True,
        "tags": ["prod"],
        "notifications": [
            {
                "typeName": EMAIL.type,
                "emailAddress": "oncall@example.com",
                "delayMin": 0,
                "intervalMin": 60,
            }
        ],
    }
    example = {
        **request_example,
        "id": AN_ID,
        "typeName": "AGENT",
        "groupIds": [],
        "matchers": [],
        "notifications": [{"id": "69201a2b3c4d5e6f70819205", **request_example["notifications"][0]}],
        "created": A_TIME,
        "updated": A_TIME,
        "links": self_link(f"/globalAlertConfigs/{AN_ID}"),
    }

    forAllGroups = Flag()
    groupIds = ListOf(
        Identifier(), unique=True, required=False, help_text="At least one if forAllGroups is false."
    )
    tags = ListOf(
        Text(max_length=100),
        max_length=_MOST_TAGS,
        unique=True,
        required=False,
        help_text="If forAllGroups is true: only projects with one of these tags.",
    )

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """What the event type and the scope ask for and refuse."""
        return [*super().check(values, bad), *self._scope_faults(values, bad)]

    def _scope_faults(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        if "forAllGroups" not in values:
            return
        named = "groupIds" in values or "groupIds" in bad
        if values["forAllGroups"] and "groupIds" in values:
            yield BadField("groupIds", ErrorCode.INVALID_ATTRIBUTE, "is not allowed if forAllGroups is true")
        elif not values["forAllGroups"] and not named and not self._names_none():
            yield BadField("groupIds", ErrorCode.MISSING_ATTRIBUTE, "is required if forAllGroups is false")
        if not values["forAllGroups"] and "tags" in values:
            yield BadField("tags", ErrorCode.INVALID_ATTRIBUTE, "is only allowed if forAllGroups is true")

    def _names_none(self) -> bool:
        """Whether it is stored without projects, as an earlier version left it: what is read goes back."""
        stored = self.context["stored"]
        return stored.get("forAllGroups") is False and not stored["groupIds"]


class GlobalAlertConfigSwitch(GlobalAlertConfigDocument):
    """What enables or disables a global alert configuration; the rest of it may stand there as it is."""

    refusals = (ErrorCode.ATTRIBUTE_READ_ONLY,)
    request_example = {"enabled": False}
    writable = frozenset({"enabled"})

    enabled = Flag()

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """Nothing: what is not stored so was refused."""
        return ()
