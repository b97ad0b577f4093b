"""The form of an alert configuration: what belongs to which type, and the document that is typed."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.utils.datastructures import MultiValueDict

from alerting.configs.forms import ConfigForm
from alerting.configs.inputs import (
    INPUT_TYPES,
    NOTIFICATION_INPUTS,
    THRESHOLD_OF,
    event_types,
    matched_fields,
    notification_inputs,
)
from alerting.configs.matchers import fields_for
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.resource import AlertableType, AlertConfigDocument, GlobalAlertConfigDocument
from events.types import EVENT_TYPES, Category, EventType, EventTypeSpec
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.forms import SecretInput
from opsapi.ids import new_id
from opsapi.redaction import MASK
from tests.each import each

TYPES = list(NOTIFICATION_TYPES)
ALERTABLE = [spec for spec in EVENT_TYPES.values() if spec.alertable]
COUNTED = {EventType.TOO_FEW_HEALTHY_MEMBERS.value, EventType.TOO_MANY_UNHEALTHY_MEMBERS.value}
METRIC = {"metricName": "CONNECTIONS", "mode": "AVERAGE", "operator": "GREATER_THAN", "threshold": 1000.0}
COUNT = {"operator": "LESS_THAN", "threshold": 2.0, "units": "RAW"}


def stored_notification(type_name: str, **changes: Any) -> dict[str, Any]:
    """A notification as answers show it."""
    kind = NOTIFICATION_TYPES[type_name]
    neighbour = {"id": new_id(), "typeName": type_name, "delayMin": 5, "intervalMin": 30}
    return {**neighbour, **kind.shown(kind.example), **changes}


def stored_config(*notifications: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A project's configuration as answers show it."""
    neighbour = {"eventTypeName": "HOST_DOWN", "enabled": True, "matchers": []}
    return {**neighbour, "notifications": list(notifications), **changes}


def typed_email(place: int = 0, **texts: str) -> dict[str, list[str]]:
    """A row of an e-mail notification as browsers send it."""
    said = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", **texts}
    return {f"notifications[{place}].{name}": [text] for name, text in said.items()}


class StoredConfigForm(ConfigForm):
    """The form of a configuration that is not in the database."""

    facts: Any = {}

    def read(self) -> Mapping[str, Any]:
        return {}


def config_form(stored: dict[str, Any], data: Any = None) -> StoredConfigForm:
    """The form of a project's stored configuration, empty for a new one."""

    class Form(StoredConfigForm):
        facts = stored

    sent = data if data is None else MultiValueDict(data)
    return Form(sent, operator=None)


def typed_of(stored: dict[str, Any]) -> dict[str, list[str]]:
    """What a browser sends of the form as it is shown."""
    typed: dict[str, list[str]] = {}
    for field in config_form(stored):
        value = field.value()
        texts = (
            value
            if isinstance(value, list)
            else ["on" if value is True else "" if value is None else str(value)]
        )
        typed[field.html_name] = [] if value is False else [str(text) for text in texts]
    return typed


def document_of(typed: dict[str, list[str]], stored: dict[str, Any] | None = None) -> Mapping[str, Any]:
    """The request body of what was sent."""
    form = config_form(stored or {}, typed)
    assert not form.errors
    return form.body()


@each("spec", ALERTABLE, ids=lambda spec: spec.name)
def test_an_event_type_says_what_its_configurations_can_say(spec: EventTypeSpec) -> None:
    assert spec in event_types(is_global=True)
    matchable = spec.category in {Category.HOST, Category.REPLICA_SET, Category.CLUSTER}
    expected = "metricThreshold" if spec.name == "OUTSIDE_METRIC_THRESHOLD" else None
    assert matched_fields(spec) == (list(fields_for(spec.category)) if matchable else [])
    assert bool(matched_fields(spec)) is matchable
    assert THRESHOLD_OF.get(spec.needs) == ("threshold" if spec.name in COUNTED else expected)


@each("is_global", [False, True], ids=["project", "global"])
def test_the_form_offers_the_event_types_the_api_takes(is_global: bool) -> None:
    document = GlobalAlertConfigDocument() if is_global else AlertConfigDocument()
    asked = document.fields["eventTypeName"]
    assert isinstance(asked, AlertableType)
    assert [event_type.name for event_type in event_types(is_global=is_global)] == asked.open


@each("is_global", [False, True], ids=["project", "global"])
def test_only_global_configurations_are_offered_the_types_of_theirs(is_global: bool) -> None:
    field = notification_inputs(is_global=is_global)["typeName"]
    offered = [name for name, _ in field.widget.choices if name]
    assert offered == [name for name in TYPES if is_global or name != "ADMIN"]


@each("type_name", TYPES)
def test_a_notification_type_has_the_inputs_of_its_table(type_name: str) -> None:
    declared = NOTIFICATION_TYPES[type_name]
    asked = list(NOTIFICATION_INPUTS[type_name])
    without_effect = ["emailEnabled"] if type_name == "EMAIL" else []
    own = [field.name for field in declared.fields if field.name not in without_effect]
    assert asked == ["delayMin", "intervalMin", "minSeverity", *own]
    inputs = notification_inputs(is_global=True)
    assert {name for name in own if isinstance(inputs[name], SecretInput)} == set(declared.secret_fields)


def test_every_input_is_listed_once_with_its_types() -> None:
    assert {name: set(of_types) for name, of_types in INPUT_TYPES.items()} == {
        name: {kind for kind in TYPES if name in NOTIFICATION_INPUTS[kind]} for name in INPUT_TYPES
    }
    assert list(INPUT_TYPES)[-3:] == ["delayMin", "intervalMin", "minSeverity"]
    roles: Any = INPUT_TYPES["roles"]
    assert list(roles) == ["GROUP", "ORG"]
    assert not set(roles["GROUP"].child.allowed) & set(roles["ORG"].child.allowed)


def test_the_inputs_of_a_configuration_are_the_fields_of_the_api() -> None:
    matcher = {"fieldName": "PORT", "operator": "EQUALS", "value": "27017"}
    names = [name for name in config_form(stored_config(matchers=[matcher])).fields if "notif" not in name]
    assert names == [
        "enabled",
        "eventTypeName",
        "grouping",
        "groupWaitSec",
        "name",
        "severity",
        "description",
        "runbookUrl",
        *(f"metricThreshold.{name}" for name in ("metricName", "mode", "operator", "threshold", "units")),
        *(f"threshold.{name}" for name in ("operator", "threshold", "units")),
        *(f"matchers[0].{name}" for name in ("fieldName", "operator", "value")),
    ]


@each("type_name", TYPES)
def test_what_is_shown_of_a_notification_is_sent_back_as_it_is(type_name: str) -> None:
    stored = stored_config(stored_notification(type_name))
    assert document_of(typed_of(stored), stored)["notifications"] == stored["notifications"]


@each(
    "stored",
    [
        stored_config(
            enabled=False, matchers=[{"fieldName": "PORT", "operator": "EQUALS", "value": "27017"}]
        ),
        stored_config(eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold={**METRIC, "units": "RAW"}),
        stored_config(eventTypeName="TOO_FEW_HEALTHY_MEMBERS", threshold=COUNT),
        stored_config(stored_notification("EMAIL", emailEnabled=True)),
        stored_config({"id": new_id(), "typeName": "GROUP", "delayMin": 0, "emailEnabled": True}),
        stored_config(stored_notification("GROUP", roles=["GROUP_READ_ONLY", "GROUP_OWNER"])),
        stored_config({"id": new_id(), "typeName": "PAGER_SERVICE", "delayMin": 0}),
        stored_config(
            stored_notification("EMAIL", minSeverity="WARNING"),
            name="Primary down",
            severity="INFO",
            description="Call the team.\nIf nobody answers, call the next.",
            runbookUrl="https://wiki.example.com/primary",
        ),
    ],
    ids=[
        "matcher",
        "metric",
        "count",
        "kept flag",
        "flag left out",
        "order of roles",
        "of the integration",
        "texts",
    ],
)
def test_what_is_shown_of_a_configuration_is_sent_back_as_it_is(stored: dict[str, Any]) -> None:
    sent = document_of(typed_of(stored), stored)
    assert {"matchers": [], "notifications": [], **sent} == stored


@each("type_name", [name for name in TYPES if NOTIFICATION_TYPES[name].integration])
def test_no_secret_is_in_the_form(type_name: str) -> None:
    stored = stored_config(stored_notification(type_name))
    typed, form = typed_of(stored), config_form(stored)
    secrets = [name for name, field in form.fields.items() if isinstance(field, SecretInput) and field.stored]
    assert secrets
    assert not [name for name in secrets if any(typed[name])]
    assert all(MASK in str(form.fields[name].help_text) for name in secrets)


def test_a_notification_of_another_type_keeps_nothing_of_the_stored_one() -> None:
    stored = stored_config(stored_notification("EMAIL", emailEnabled=True))
    typed = {
        **typed_of(stored),
        "notifications[0].typeName": ["PAGER_SERVICE"],
        "notifications[0].emailAddress": [""],
    }
    (sent,) = document_of(typed, stored)["notifications"]
    assert sent == {
        "typeName": "PAGER_SERVICE",
        "id": stored["notifications"][0]["id"],
        "delayMin": 5,
        "intervalMin": 30,
    }


@each("type_name", TYPES)
def test_what_does_not_belong_to_the_type_and_is_empty_is_not_sent(type_name: str) -> None:
    empty = {f"notifications[0].{name}": [""] for name in INPUT_TYPES}
    boxes = {"notifications[0].emailEnabled": ["on"], "notifications[0].smsEnabled": ["on"]}
    typed = {**empty, **boxes, "notifications[0].typeName": [type_name]}
    (sent,) = document_of(typed)["notifications"]
    kind = NOTIFICATION_TYPES[type_name]
    flags = {"emailEnabled": True, "smsEnabled": True} if kind.for_people else {}
    assert sent == {"typeName": type_name, **flags}


def test_what_does_not_belong_to_the_type_and_was_typed_is_refused_by_the_api() -> None:
    typed = {"eventTypeName": ["HOST_DOWN"], **typed_email(serviceKey="typed", roles="GROUP_OWNER")}
    with pytest.raises(ApiError) as refusal:
        AlertConfigDocument(context={"group_id": None}).read(document_of(typed))
    faults = {(field.field, field.code) for field in refusal.value.bad_fields}
    names = ("serviceKey", "roles")
    assert faults == {(f"notifications[0].{name}", ErrorCode.INVALID_ATTRIBUTE) for name in names}
    assert all("E-mail (EMAIL)" in field.message for field in refusal.value.bad_fields)


def test_an_empty_form_is_an_empty_document() -> None:
    assert document_of({}) == {"enabled": False}


def test_the_api_takes_what_was_typed() -> None:
    typed = {
        "eventTypeName": ["OUTSIDE_METRIC_THRESHOLD"],
        "enabled": ["on"],
        "matchers[4].fieldName": ["HOSTNAME"],
        "matchers[4].operator": ["STARTS_WITH"],
        "matchers[4].value": ["db"],
        "metricThreshold.metricName": ["CONNECTIONS"],
        "metricThreshold.mode": [""],
        "metricThreshold.operator": ["GREATER_THAN"],
        "metricThreshold.threshold": ["1000"],
        "metricThreshold.units": [""],
        "threshold.operator": [""],
        "threshold.threshold": [""],
        **typed_email(7, delayMin="", intervalMin="15"),
    }
    read = AlertConfigDocument(context={"group_id": None}).read(document_of(typed))
    assert read == {
        "event_type": "OUTSIDE_METRIC_THRESHOLD",
        "enabled": True,
        "matchers": [{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}],
        "metric_threshold": {**METRIC, "units": "RAW"},
        "notifications": [
            {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 0, "intervalMin": 15}
        ],
    }
