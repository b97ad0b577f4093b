"""A secret planted in every field that can hold one turns up nowhere (architecture habit 4)."""

import logging
import re
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from alerting.engine.evaluation import evaluate_signals
from opsapi import clock
from opsapi.api.documents import Document
from tests.admin.rows import make_operator
from tests.api import bodies
from tests.api.canary import (
    GUARDED,
    HARMLESS_FIELDS,
    PLANTED,
    SECRET_FIELDS,
    Witness,
    body_of,
    documents,
    kept_secrets,
    planted_fields,
    secret_fields,
    spoilt,
    suspicious_fields,
)
from tests.api.routes import KEYED, ROUTES, Route
from tests.client import ApiClient
from tests.each import each
from tests.integration.alerting.pipeline import deliver_one

RAN = {"GET": 0, "POST": 1, "PUT": 2, "PATCH": 3, "DELETE": 9}
WRITES = sorted(
    (route for route in ROUTES if route.method != "GET"),
    # What is created is created first, what ends something comes last, and what is on it before it.
    key=lambda route: (RAN[route.method], -len(route.template) if route.method == "DELETE" else 0),
)
_EVERYTHING = "includeRaw=true&envelope=true&granularity=PT1M&period=PT1H&hostname=db1.example.com"
"""A query with which every list and every document is shown, as whole as it can be."""

READS = [route for route in KEYED if route.method == "GET"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def witness(owner: ApiClient, known_anew: Mapping[str, str], caplog: pytest.LogCaptureFixture) -> Witness:
    """A Global owner who sees everything, including the log."""
    caplog.set_level(logging.DEBUG)
    assert owner.key
    return Witness(owner.key)


@pytest.fixture
def nowhere(settings: Settings) -> None:
    """Every service is where the guard refuses to go, so that delivery fails and says why."""
    for name in [name for name in dir(settings) if name.endswith("_BASE_URL")]:
        setattr(settings, name, GUARDED)


@pytest.fixture
def places(witness: Witness, known_anew: Mapping[str, str], nowhere: None) -> Mapping[str, str]:
    """The parameters of paths; the configuration has secrets, and its alerts are notified."""
    path = f"/groups/{known_anew['group_id']}"
    config = witness.post(f"{path}/alertConfigs", body_of(f"POST /api/public/v1.0{_CONFIGS}")).json()
    witness.report(
        known_anew["group_id"], bodies.report(bodies.host(hostname="other.example.com", reachable=False))
    )
    while evaluate_signals(now=clock.now()) or deliver_one():
        pass
    return {**known_anew, "config_id": config["id"]}


_CONFIGS = "/groups/<group_id>/alertConfigs"


@pytest.mark.slow
def test_no_answer_and_no_log_line_shows_a_secret(
    witness: Witness, places: Mapping[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    for route in [route for route in WRITES if route.method != "DELETE"]:
        _taken(witness, route, places)
        _refused(witness, route, places)
    for route in READS:
        answer = witness.request("GET", f"{route.path(places)}?{_EVERYTHING}", base="")
        assert answer.status_code == 200 or "byName" in route.template, route  # what was renamed
    for route in [route for route in WRITES if route.method == "DELETE"]:
        witness.request("DELETE", route.path(places), base="")
    while evaluate_signals(now=clock.now()) or deliver_one():
        pass
    metrics = Client().get("/metrics").content.decode()
    assert "opsapi_notifications" in metrics
    shown = [*witness.shown, ("the metrics", metrics)]
    _assert_nowhere(witness, [*shown, ("the log", caplog.text), *_records(caplog)])


def _taken(witness: Witness, route: Route, places: Mapping[str, str]) -> None:
    answer = witness.request(route.method, route.path(places), body_of(str(route)), base="")
    assert answer.status_code < 500, route
    assert str(route) not in PLANTED or answer.status_code in {200, 201}, answer.content


def _refused(witness: Witness, route: Route, places: Mapping[str, str]) -> None:
    """Bodies with secrets are refused for many reasons; no refusal contains the secret."""
    if str(route) in PLANTED:
        for body in spoilt(PLANTED[str(route)]):
            witness.request(route.method, route.path(places), body, base="")
    stranger = {"HTTP_AUTHORIZATION": f'Digest username="x", realm="{bodies.SECRET}", response="x"'}
    assert witness.request(route.method, route.path(places), b"{", base="", **stranger).status_code >= 400


@pytest.mark.slow
def test_no_event_and_no_row_holds_a_secret_in_plain(witness: Witness, places: Mapping[str, str]) -> None:
    for route in [route for route in WRITES if route.method != "DELETE"]:
        _taken(witness, route, places)
    rows = list(_rows())
    assert len({table for table, _ in rows}) > 10
    for table, row in rows:
        assert not [secret for secret in witness.secrets if secret in row], table
    encrypted = kept_secrets()
    for table, row in rows:
        if table.startswith("events_") or table == "alerting_notification":
            assert not [secret for secret in encrypted if secret in row], table


def _rows() -> Iterator[tuple[str, str]]:
    """Table and content of every row of ours, as the database shows it."""
    with connection.cursor() as cursor:
        for model in apps.get_models():
            table = model._meta.db_table
            cursor.execute(f'SELECT t::text FROM "{table}" AS t')  # noqa: S608 - our own names
            yield from ((table, row) for (row,) in cursor.fetchall())


@pytest.mark.slow
def test_no_page_of_the_console_shows_a_secret(witness: Witness, places: Mapping[str, str]) -> None:
    for route in [route for route in WRITES if route.method == "POST"]:
        _taken(witness, route, places)
    browser = Client()
    browser.force_login(make_operator())
    pages = [(url, browser.get(url).content.decode()) for url in _pages()]
    assert len(pages) > 30
    _assert_nowhere(witness, pages)


def _pages() -> Iterator[str]:
    """The console's first page, every list, and the page of every row."""
    yield reverse("admin:index")
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield reverse(f"{name}_changelist")
        # The turn of signals without a project has an empty ID, and no page.
        for row in filter(attrgetter("pk"), model._default_manager.all()):
            yield reverse(f"{name}_change", args=[row.pk])


@pytest.mark.slow
@pytest.mark.parametrize("command", [["access_list", "list"], ["rotate_encryption"], ["create_key"]], ids=str)
def test_no_command_prints_a_secret_of_others(
    witness: Witness,
    places: Mapping[str, str],
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    call_command(*command)
    printed = capsys.readouterr()
    _assert_nowhere(witness, [(command[0], printed.out + printed.err), ("the log", caplog.text)])


_PRINTED = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})|password +(\S+)")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["demo", "bootstrap"])
def test_a_command_prints_only_the_secrets_it_announces(
    db: None, command: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    options = {"username": "ada@example.com"} if command == "bootstrap" else {}
    call_command(command, **options)
    printed = capsys.readouterr()
    printed_secrets = {
        secret for found in _PRINTED.finditer(printed.out) for secret in found.groups() if secret
    }
    assert len(printed_secrets) > 1
    for secret in {*kept_secrets(), *printed_secrets}:
        assert secret not in caplog.text
        assert secret not in printed.err
    assert not [secret for secret in kept_secrets() if secret in printed.out]
    for table, row in _rows():
        assert not [secret for secret in printed_secrets if secret in row], table


def _records(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Log records with all they carry next to their message."""
    return [(f"log of {record.name}", str(vars(record))) for record in caplog.records]


def _assert_nowhere(witness: Witness, shown: list[tuple[str, str]]) -> None:
    secrets = witness.secrets | kept_secrets()
    assert len(secrets) > 8
    found = [(place, secret[:8]) for place, text in shown for secret in secrets if secret in text]
    assert not found


# --- the tables are whole -------------------------------------------------------------------------


@each("document", list(documents()), ids=lambda field: field.__name__)
def test_a_field_that_looks_secret_is_known_for_what_it_is(document: type[Document]) -> None:
    assert suspicious_fields(document) <= SECRET_FIELDS | set(HARMLESS_FIELDS)


@each("route", [route for route in ROUTES if route.takes_body], ids=str)
def test_every_field_that_takes_a_secret_is_planted(route: Route) -> None:
    wanted: Any = secret_fields(route.viewset.bodies[route.action])
    assert planted_fields(PLANTED.get(str(route))) == wanted
