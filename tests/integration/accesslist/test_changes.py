"""The scope of a change takes the declared locks in order, and records the event if something changed."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.changes import acting, changing
from accesslist.models import ApiKey, Organization
from accesslist.projects.changes import ORGANIZATION
from events.models import Event
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.roles import Grant, Role, Scope
from tests.factories.accesslist import OrganizationFactory, make_key

pytestmark = pytest.mark.django_db
NOW = clock.now()


@pytest.fixture
def org() -> Organization:
    row: Organization = OrganizationFactory.create()
    return row


def recorded() -> list[str]:
    return list(Event.objects.order_by("id").values_list("event_type", flat=True))


def rename(org: Organization, name: str) -> None:
    Organization.objects.filter(id=org.id).update(name=name)


def test_the_event_has_what_was_stored_before_and_after(org: Organization) -> None:
    with changing(ORGANIZATION, SYSTEM, NOW, here=Scope(org_id=org.id), row_id=org.id) as change:
        assert change.row == org
        rename(org, "finance")
        assert recorded() == []
    [event] = Event.objects.all()
    assert (event.event_type, event.org_id, event.group_id) == ("ORG_RENAMED", org.id, None)
    [diff] = event.diffs
    assert diff["params"] == [{"param": "name", "display": "name", "old": org.name, "new": "finance"}]


def test_nothing_is_recorded_if_nothing_changed(org: Organization) -> None:
    with changing(ORGANIZATION, SYSTEM, NOW, row_id=org.id):
        rename(org, org.name)
    assert recorded() == []


def test_a_change_that_is_recorded_in_the_block_is_recorded_once(org: Organization) -> None:
    with changing(ORGANIZATION, SYSTEM, NOW, row_id=org.id) as change:
        rename(org, "finance")
        change.record_changed()
        assert recorded() == ["ORG_RENAMED"]
    assert recorded() == ["ORG_RENAMED"]


def test_a_deleted_row_is_recorded_as_deleted_only(org: Organization) -> None:
    with changing(ORGANIZATION, SYSTEM, NOW, row_id=org.id) as change:
        change.record_deleted()
        change.row.delete()
    assert recorded() == ["ORG_DELETED_AUDIT"]


def test_a_refusal_undoes_the_change_and_records_nothing(org: Organization) -> None:
    def refused() -> None:
        with changing(ORGANIZATION, SYSTEM, NOW, row_id=org.id):
            rename(org, "finance")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        refused()
    org.refresh_from_db()
    assert org.name != "finance"
    assert recorded() == []


def test_a_row_that_was_deleted_in_the_meantime_is_refused(org: Organization) -> None:
    org_id = org.id
    org.delete()
    with pytest.raises(ApiError, match="ORG_NOT_FOUND"), changing(ORGANIZATION, SYSTEM, NOW, row_id=org_id):
        pytest.fail("the block ran")


def test_locks_are_taken_in_their_order_after_the_lock_of_the_actor(org: Organization) -> None:
    taken: list[str] = []

    def lock(name: str) -> Callable[[Scope], None]:
        return lambda here: taken.append(f"{name} of {here.org_id}")

    def find(here: Scope, org_id: str) -> Organization:
        taken.append("row")
        return ORGANIZATION.find(here, org_id)

    here = Scope(org_id=org.id)
    tracked = replace(ORGANIZATION, locks=(lock("first"), lock("second")), adding=(lock("added"),), find=find)
    with changing(tracked, SYSTEM, NOW, here=here, row_id=org.id):
        pass
    assert taken == [f"first of {org.id}", f"second of {org.id}", "row"]
    taken.clear()
    with changing(tracked, SYSTEM, NOW, here=here):
        pass
    assert taken == [f"first of {org.id}", f"second of {org.id}", f"added of {org.id}"]


def test_an_actor_whose_permissions_were_revoked_takes_no_other_lock(org: Organization) -> None:
    key = make_key(Grant(Role.GLOBAL_OWNER))
    actor = Actor(ActorKind.KEY, key.id, key.public_key, revocations=0)
    ApiKey.objects.update(revocations=1)
    tracked = replace(ORGANIZATION, locks=(lambda _: pytest.fail("a lock was taken"),))
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"), changing(tracked, actor, NOW, row_id=org.id):
        pytest.fail("the block ran")


@pytest.mark.parametrize(("ends", "statements"), [(None, 0), ((), 1), (["0" * 24], 2)])
def test_an_act_that_ends_permissions_runs_alone_and_locks_their_holders(
    ends: list[str] | None, statements: int
) -> None:
    with (
        CaptureQueriesContext(
            connection,
        ) as queries,
        acting(SYSTEM, NOW, ends=ends),
    ):
        pass
    assert sum("pg_advisory_xact_lock(" in query["sql"] for query in queries) == statements
