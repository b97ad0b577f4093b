"""Labels of the fields of an alert configuration; other fields use their wire names."""

from collections.abc import Mapping

from alerting.notification_types import NOTIFICATION_TYPES

LABELS: Mapping[str, str] = {
    "eventTypeName": "Event type",
    "enabled": "Enabled",
    "forAllGroups": "All projects",
    "groupIds": "Projects",
    "tags": "Only projects with one of these tags, one per line",
    "matchers": "Matchers",
    "fieldName": "Field",
    "operator": "Operator",
    "value": "Value",
    "metricThreshold": "Metric threshold",
    "metricName": "Metric",
    "mode": "Mode",
    "threshold": "Threshold",
    "units": "Units",
    "notifications": "Notifications",
    "typeName": "Type",
    "delayMin": "Delay in minutes",
    "intervalMin": "Minutes between reminders",
    **{field.name: field.label for kind in NOTIFICATION_TYPES.values() for field in kind.fields},
}


def label_of(name: str) -> str:
    """The label of an input; `name` may be a path, whose last step counts."""
    last = name.rpartition(".")[2]
    return LABELS.get(last, last)


def place_of(name: str) -> str:
    """The name of a row or part in a sentence, such as `Notifications 2` for `notifications[1]`."""
    part, _, place = name.partition("[")
    number = place.partition("]")[0]
    return f"{label_of(part)} {int(number) + 1}" if number.isdecimal() else label_of(part)
