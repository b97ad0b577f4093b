"""Every document a route takes, fed any JSON: its values, or a refusal that names fields."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.configs.notification_documents import DOCUMENTS as NOTIFICATIONS
from alerting.configs.notification_documents import NotificationDocument
from opsapi import clock
from opsapi.api.documents import Document, read_array
from opsapi.api.errors import MOST_FAULTS, ApiError
from opsapi.api.fields import ListOf
from tests.api.routes import ROUTES
from tests.architecture.test_writes_are_recorded import BODIES
from tests.each import each
from tests.hostile.budget import budget, tries
from tests.hostile.outcome import outcome
from tests.hostile.test_properties import ANY_TEXT, JSON
from tests.hostile.values import mutants

TAKEN = {str(route): route.viewset.bodies[route.action] for route in ROUTES if route.takes_body}
"""Route → the document it takes, in a list where it takes an array of them."""

MUTANTS = 3
pytestmark = pytest.mark.django_db


def reader(taken: Any) -> Callable[[Any], Any]:
    """Reads a value as the route would."""
    context = {
        "now": clock.now(),
        "stored": {"eventTypeName": "HOST_DOWN"},
        "type": "WEBHOOK",
        "group_id": "a" * 24,
    }
    if isinstance(taken, list):
        array = taken[0](context=context)
        return lambda items: read_array(array, items)
    return lambda data: taken(context=context).read(data)


def check(read: Callable[[Any], Any], value: Any) -> None:
    """Raise AssertionError when reading the value ends in anything but values or named faults."""
    _, refusal = outcome(lambda: read(value), ApiError)
    if refusal is None:
        return
    assert 1 <= len(refusal.bad_fields) <= MOST_FAULTS, value
    assert refusal.code is refusal.bad_fields[0].code
    assert all(fault.field and fault.message for fault in refusal.bad_fields), value
    assert all(fault.code.status < 500 for fault in refusal.bad_fields)
    assert refusal.document()["detail"]


def documents(document: Document) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that name the document's own fields, one in another as it says; their values are anything."""
    return st.dictionaries(ANY_TEXT, JSON, max_size=2).flatmap(
        lambda more: st.fixed_dictionaries(
            {}, optional={name: _values(field) for name, field in document.fields.items()}
        ).map(lambda named: {**more, **named})
    )


def _values(field: Any) -> st.SearchStrategy[Any]:
    if isinstance(field, NotificationDocument):
        return JSON | st.one_of([documents(document()) for document in NOTIFICATIONS.values()])
    if isinstance(field, Document):
        return JSON | documents(field)
    if isinstance(field, ListOf):
        return JSON | st.lists(_values(field.child), max_size=4)
    if hasattr(field, "allowed"):
        return JSON | st.sampled_from(field.allowed)
    return JSON


@each("route", TAKEN)
def test_anything_is_read_or_its_faults_are_named(route: str) -> None:
    taken = TAKEN[route]
    inner = documents((taken[0] if isinstance(taken, list) else taken)())

    @tries(2)
    @given(value=st.lists(JSON | inner, max_size=5) if isinstance(taken, list) else inner)
    def read(value: Any) -> None:
        check(reader(taken), value)

    read()


@each("route", TAKEN)
def test_a_changed_valid_body_is_read_or_its_faults_are_named(route: str) -> None:
    bodies = mutants(BODIES[route], random.Random(route))
    kind = list if isinstance(TAKEN[route], list) else dict
    read = reader(TAKEN[route])
    for _, body in zip(range(budget(MUTANTS)), bodies, strict=False):
        value = _parsed(body)
        if isinstance(value, kind):
            check(read, value)


def _parsed(body: bytes) -> Any:
    """What any JSON reader makes of it; None when nothing."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
