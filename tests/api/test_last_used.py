"""When an access list entry was last used: written at most once a minute."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accesslist.digest.store import note_use
from accesslist.models import AccessListEntry, Project
from opsapi import clock
from opsapi.roles import Grant, Role
from opsapi.sql import execute
from tests.api.access_lists import NOON, OFF, ON
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, make_entry, make_key
from tests.racing import THREADS, at_once

MINUTE = timedelta(minutes=1)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_exemption(settings: Settings) -> None:
    settings.OPSAPI_ACCESS_LIST_EXEMPT = []


@pytest.fixture
def key(db: None) -> KeyPair:
    """A key with a global role."""
    return make_key(Role.GLOBAL_READ_ONLY)


def call(key: KeyPair, address: str = ON, **headers: str) -> list[str]:
    """Make a call; return its updates of access lists."""
    with CaptureQueriesContext(connection) as queries:
        ApiClient(key).get("/groups", REMOTE_ADDR=address, **headers)
    return [query["sql"] for query in queries if "UPDATE accesslist_accesslistentry" in query["sql"]]


def used() -> Mapping[str, datetime | None]:
    """Range → last use."""
    return dict(AccessListEntry.objects.values_list("cidr_block", "last_used"))


def test_every_entry_that_covers_the_caller_is_used(key: KeyPair) -> None:
    make_entry("192.0.2.0/24")
    make_entry("0.0.0.0/0")
    make_entry("198.51.100.0/24")
    make_entry("192.0.2.7/32", key.id)
    make_entry("192.0.2.6/31", make_key().id)
    with time_machine.travel(NOON, tick=False):
        now = clock.now()
        assert len(call(key)) == 1
    assert used() == {
        "192.0.2.0/24": now,
        "0.0.0.0/0": now,
        "198.51.100.0/24": None,
        "192.0.2.7/32": now,
        "192.0.2.6/31": None,
    }


@each(
    ("later", "writes"),
    [(timedelta(seconds=1), 0), (MINUTE - timedelta(microseconds=1), 0), (MINUTE, 1), (2 * MINUTE, 1)],
    ids=str,
)
def test_a_use_is_written_once_a_minute(key: KeyPair, later: timedelta, writes: int) -> None:
    make_entry("192.0.2.0/24")
    make_entry("192.0.2.7/32", key.id)
    with time_machine.travel(NOON, tick=False) as moment:
        first = clock.now()
        call(key)
        moment.shift(later)
        assert len(call(key)) == writes
    assert set(used().values()) == {first + later if writes else first}


def test_only_the_entries_that_are_due_are_written(key: KeyPair) -> None:
    with time_machine.travel(NOON, tick=False):
        now = clock.now()
        make_entry("192.0.2.0/24", last_used=now - MINUTE / 2)
        make_entry("192.0.2.7/32", last_used=now - MINUTE)
        assert len(call(key)) == 1
    assert used() == {"192.0.2.0/24": now - MINUTE / 2, "192.0.2.7/32": now}


def test_the_global_list_is_used_by_keys_with_a_global_role(project: Project) -> None:
    make_entry("192.0.2.0/24")
    assert call(make_key(Grant(Role.GROUP_OWNER, group_id=project.id))) == []
    assert used() == {"192.0.2.0/24": None}


def test_a_refused_call_does_not_count_as_use(key: KeyPair) -> None:
    make_entry("0.0.0.0/0")
    make_entry("192.0.2.0/24", key.id)
    assert call(key, OFF) == []
    wrong = KeyPair(key.id, key.public_key, "wrong")
    assert call(wrong) == []
    assert set(used().values()) == {None}


def test_a_call_of_an_exempt_caller_counts_as_use(key: KeyPair, settings: Settings) -> None:
    settings.OPSAPI_ACCESS_LIST_EXEMPT = [ip_network(ON), ip_network(OFF)]
    make_entry("192.0.2.0/24")
    assert call(key, OFF) == []
    assert len(call(key)) == 1


def test_it_is_shown(key: KeyPair) -> None:
    entry = make_entry("192.0.2.0/24")
    with time_machine.travel(NOON, tick=False):
        shown: Any = ApiClient(key).get(f"/admin/accessList/{entry.id}", REMOTE_ADDR=ON)
    assert shown.json()["lastUsed"] == NOON


def rows_written(key: KeyPair, now: datetime) -> int:
    """How many entries a use at that moment writes."""
    counted: list[int] = []

    def count(execute: Callable[..., object], sql: str, params: object, many: bool, context: Any) -> object:
        done = execute(sql, params, many, context)
        counted.append(context["cursor"].rowcount)
        return done

    with connection.execute_wrapper(count):
        note_use(key_id=key.id, address=ON, in_global_list=True, now=now)
    return sum(counted)


@pytest.mark.django_db(transaction=True)
def test_one_of_concurrent_calls_writes(transactional_db: None) -> None:
    key = make_key(Role.GLOBAL_READ_ONLY)
    make_entry("192.0.2.0/24")
    moments = [clock.now() + timedelta(seconds=number) for number in range(THREADS)]
    assert sum(at_once(lambda number: rows_written(key, moments[number]))) == 1
    assert used()["192.0.2.0/24"] in moments
    assert rows_written(key, moments[-1]) == 0


@pytest.mark.django_db(transaction=True)
def test_calls_do_not_wait_for_a_write_of_last_used(transactional_db: None) -> None:
    key = make_key(Role.GLOBAL_READ_ONLY)
    entry = make_entry("192.0.2.0/24")
    with transaction.atomic():
        AccessListEntry.objects.select_for_update(no_key=True).get(id=entry.id)
        assert at_once(lambda _: _without_waiting(key)) == [0] * THREADS
    assert rows_written(key, clock.now()) == 1


def _without_waiting(key: KeyPair) -> int:
    execute("SET lock_timeout = '2s'")
    return rows_written(key, clock.now())
