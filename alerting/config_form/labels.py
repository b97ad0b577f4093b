"""How the console calls the fields of an alert configuration; any other by its name on the wire."""

from collections.abc import Mapping

from integrations.labels import LABELS as OF_INTEGRATIONS

LABELS: Mapping[str, str] = {
    **OF_INTEGRATIONS,
    "eventTypeName": "Event type",
    "forAllGroups": "All projects",
    "groupIds": "Projects",
    "tags": "Only projects with one of these tags, one a line",
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
    "intervalMin": "Minutes between repeats",
    "roles": "Roles",
    "emailEnabled": "By e-mail",
    "smsEnabled": "By SMS",
    "teamId": "Team",
    "emailAddress": "E-mail address",
    "mobileNumber": "Mobile number",
    "metricsServiceApiKey": "API key of the metrics service",
    "opsAlertApiKey": "API key of the ops alert service",
    "opsAlertRegion": "Region",
    "onCallApiKey": "API key of the on-call service",
    "onCallRoutingKey": "Routing key",
    "webhookSecret": "Secret for signing",
    "teamChatWebhookUrl": "URL of the team chat",
}


def label_of(name: str) -> str:
    """What an input is called; `name` may be a path, whose last step it then is."""
    last = name.rpartition(".")[2]
    return LABELS.get(last, last)


def place_of(name: str) -> str:
    """What a row or part is called in a sentence, such as `Notifications 2` for `notifications[1]`."""
    part, _, place = name.partition("[")
    number = place.partition("]")[0]
    return f"{label_of(part)} {int(number) + 1}" if number.isdecimal() else label_of(part)
