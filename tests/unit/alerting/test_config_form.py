"""The form of an alert configuration: what belongs to which type, and the document that is typed."""

from typing import Any

import pytest
from unfold import widgets

from alerting.forms.config_documents import document_of, stored_secrets, typed_of
from alerting.forms.config_fields import field_of, notification_fields
from alerting.forms.config_inputs import (
    MATCHER_INPUTS,
    NOTIFICATION_INPUTS,
    ROW_INPUTS,
    THRESHOLD_INPUTS,
    THRESHOLD_OF,
    config_inputs,
    event_types,
    matched_fields,
)
from alerting.notification_types import NOTIFICATION_TYPES
from alerting.rules.matchers import fields_for
from alerting.serializers.configs import AlertableType, AlertConfigDocument, GlobalAlertConfigDocument
from events.types import EVENT_TYPES, Category, EventType, EventTypeSpec
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
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
    field = notification_fields("row", is_global=is_global, secrets={}, is_new=True)["row.typeName"]
    offered = [name for name, _ in field.widget.choices if name]
    assert offered == [name for name in TYPES if is_global or name != "ADMIN"]


@each("type_name", TYPES)
def test_a_notification_type_has_the_inputs_of_its_table(type_name: str) -> None:
    declared = NOTIFICATION_TYPES[type_name]
    asked = [field.name for field in NOTIFICATION_INPUTS[type_name]]
    without_effect = ["emailEnabled"] if type_name == "EMAIL" else []
    own = [field.name for field in declared.fields if field.name not in without_effect]
    assert asked == ["delayMin", "intervalMin", *own]
    hidden = {field.name for field in NOTIFICATION_INPUTS[type_name] if field.is_secret}
    assert hidden == set(declared.secret_fields)


def test_every_input_is_listed_once_with_its_types() -> None:
    assert {name: set(of_types) for name, of_types in ROW_INPUTS.items()} == {
        name: {kind for kind in TYPES if name in {field.name for field in NOTIFICATION_INPUTS[kind]}}
        for name in ROW_INPUTS
    }
    roles = ROW_INPUTS["roles"]
    assert list(roles) == ["GROUP", "ORG"]
    assert not set(roles["GROUP"].choices) & set(roles["ORG"].choices)


def test_the_inputs_of_the_condition_are_the_fields_of_the_api() -> None:
    assert [field.name for field in MATCHER_INPUTS] == ["fieldName", "operator", "value"]
    assert {part: [field.name for field in inputs] for part, inputs in THRESHOLD_INPUTS.items()} == {
        "metricThreshold": ["metricName", "mode", "operator", "threshold", "units"],
        "threshold": ["operator", "threshold", "units"],
    }
    assert [field.name for field in config_inputs(is_global=False)] == [
        "enabled",
        "eventTypeName",
        "grouping",
        "groupWaitSec",
    ]


def test_each_input_of_a_global_configuration_has_the_widget_of_its_field() -> None:
    fields = {declared.name: field_of(declared) for declared in config_inputs(is_global=True)}
    assert {name: type(field.widget) for name, field in fields.items()} == {
        "enabled": widgets.UnfoldBooleanWidget,
        "eventTypeName": widgets.UnfoldAdminSelectWidget,
        "forAllGroups": widgets.UnfoldBooleanWidget,
        "groupIds": widgets.UnfoldAdminSelectMultipleWidget,
        "tags": widgets.UnfoldAdminTextareaWidget,
        "grouping": widgets.UnfoldAdminSelectWidget,
        "groupWaitSec": widgets.UnfoldAdminTextInputWidget,
    }
    assert fields["groupWaitSec"].widget.attrs["inputmode"] == "numeric"


@each("type_name", TYPES)
def test_what_is_shown_of_a_notification_is_sent_back_as_it_is(type_name: str) -> None:
    stored = stored_config(stored_notification(type_name))
    typed = typed_of(stored, is_global=True)
    assert document_of(typed, is_global=True, stored=stored)["notifications"] == stored["notifications"]


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
    ],
    ids=["matcher", "metric", "count", "kept flag", "flag left out", "order of roles", "of the integration"],
)
def test_what_is_shown_of_a_configuration_is_sent_back_as_it_is(stored: dict[str, Any]) -> None:
    sent = document_of(typed_of(stored, is_global=False), is_global=False, stored=stored)
    assert {"matchers": [], "notifications": [], **sent} == stored


@each(
    "scope",
    [
        {"forAllGroups": True, "groupIds": [], "tags": ["prod", " eu"]},
        {"forAllGroups": False, "groupIds": [new_id(), new_id()], "tags": []},
    ],
    ids=["tags", "projects"],
)
def test_the_scope_of_a_global_configuration_is_sent_back_as_it_is(scope: dict[str, Any]) -> None:
    stored = stored_config(stored_notification("ADMIN"), **scope)
    sent = document_of(typed_of(stored, is_global=True), is_global=True, stored=stored)
    assert {"groupIds": [], "tags": [], "matchers": [], **sent} == stored


@each("type_name", [name for name in TYPES if NOTIFICATION_TYPES[name].integration])
def test_no_secret_is_in_the_form(type_name: str) -> None:
    stored = stored_config(stored_notification(type_name))
    typed = typed_of(stored, is_global=False)
    shown = stored_secrets([("notifications[0]", stored["notifications"][0])])
    assert shown
    assert all(not typed[name] and MASK in text for name, text in shown.items())


def test_a_copy_has_neither_ids_nor_secrets() -> None:
    stored = stored_config(stored_notification("WEBHOOK"))
    copy = document_of(typed_of(stored, is_global=False, as_new=True), is_global=False)
    assert copy["notifications"] == [{"typeName": "WEBHOOK", "delayMin": 5, "intervalMin": 30}]


def test_a_notification_of_another_type_keeps_nothing_of_the_stored_one() -> None:
    stored = stored_config(stored_notification("EMAIL", emailEnabled=True))
    typed = {
        **typed_of(stored, is_global=False),
        "notifications[0].typeName": ["PAGER_SERVICE"],
        "notifications[0].emailAddress": [""],
    }
    (sent,) = document_of(typed, is_global=False, stored=stored)["notifications"]
    assert sent == {
        "typeName": "PAGER_SERVICE",
        "id": stored["notifications"][0]["id"],
        "delayMin": 5,
        "intervalMin": 30,
    }


@each("type_name", TYPES)
def test_what_does_not_belong_to_the_type_and_is_empty_is_not_sent(type_name: str) -> None:
    empty = {f"notifications[0].{name}": [""] for name in ROW_INPUTS}
    boxes = {"notifications[0].emailEnabled": ["on"], "notifications[0].smsEnabled": ["on"]}
    typed = {**empty, **boxes, "notifications[0].typeName": [type_name]}
    (sent,) = document_of(typed, is_global=True)["notifications"]
    kind = NOTIFICATION_TYPES[type_name]
    flags = {"emailEnabled": True, "smsEnabled": True} if kind.for_people else {}
    assert sent == {"typeName": type_name, **flags}


def test_what_does_not_belong_to_the_type_and_was_typed_is_refused_by_the_api() -> None:
    typed = {"eventTypeName": ["HOST_DOWN"], **typed_email(serviceKey="typed", roles="GROUP_OWNER")}
    with pytest.raises(ApiError) as refusal:
        AlertConfigDocument(context={"group_id": None}).read(document_of(typed, is_global=False))
    faults = {(field.field, field.code) for field in refusal.value.bad_fields}
    names = ("serviceKey", "roles")
    assert faults == {(f"notifications[0].{name}", ErrorCode.INVALID_ATTRIBUTE) for name in names}
    assert all("E-mail (EMAIL)" in field.message for field in refusal.value.bad_fields)


def test_an_empty_form_is_an_empty_document() -> None:
    assert document_of({}, is_global=False) == {"enabled": False}
    assert document_of({}, is_global=True) == {"enabled": False, "forAllGroups": False}


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
    read = AlertConfigDocument(context={"group_id": None}).read(document_of(typed, is_global=False))
    assert read == {
        "event_type": "OUTSIDE_METRIC_THRESHOLD",
        "enabled": True,
        "matchers": [{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}],
        "metric_threshold": {**METRIC, "units": "RAW"},
        "notifications": [
            {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 0, "intervalMin": 15}
        ],
    }
