"""No list makes more queries for more rows (architecture habit 7). A new list needs a row here."""

from collections.abc import Callable, Mapping

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.models import Alert
from events.services import event_record
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.routes import ROUTES
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory, make_key

FEW, MANY = 2, 9
PUBLIC = "/api/public/v1.0"
Maker = Callable[[ApiClient, Project, int], object]


def _event(_: ApiClient, project: Project, number: int) -> None:
    with transaction.atomic():
        event_record(
            event_type=EventType.GROUP_CREATED,
            actor=SYSTEM,
            now=clock.now(),
            group_id=project.id,
            signals=False,
        )


def _alert(_: ApiClient, project: Project, number: int) -> None:
    now = clock.now()
    Alert.objects.create(
        group=project,
        config_id=new_id(),
        event_type="HOST_DOWN",
        status="OPEN",
        target_key=str(number),
        created=now,
        updated=now,
        opens=now,
    )


def _config(owner: ApiClient, project: Project, number: int) -> None:
    notifications = [bodies.email(), bodies.webhook()] * (number + 1)
    owner.post(f"/groups/{project.id}/alertConfigs", bodies.alert_config(notifications=notifications))


MAKERS: Mapping[str, Maker] = {
    "/groups": lambda owner, project, number: ProjectFactory.create(),
    "/groups/<group_id>/apiKeys": lambda owner, project, number: make_key(
        Grant(Role.GROUP_OWNER, group_id=project.id), Grant(Role.GROUP_AGENT, group_id=project.id)
    ),
    "/admin/apiKeys": lambda owner, project, number: make_key(Role.GLOBAL_OWNER, Role.GLOBAL_READ_ONLY),
    "/globalEvents": _event,
    "/groups/<group_id>/events": _event,
    "/groups/<group_id>/hosts": lambda owner, project, number: owner.report(
        project.id, bodies.report(bodies.host(port=number + 1))
    ),
    "/groups/<group_id>/alerts": _alert,
    "/groups/<group_id>/alertConfigs": _config,
}
"""List → makes one more row of it."""

CLOSED_SETS = {"/errorCodes", "/eventTypes", "/metricNames", "/alertConfigs/matchers/fieldNames"}
LISTS = {
    route.template.removeprefix(PUBLIC)
    for route in ROUTES
    if isinstance(route.viewset.answers.get(route.action), list)
}
pytestmark = pytest.mark.django_db


def test_every_list_has_a_row() -> None:
    assert set(MAKERS) | CLOSED_SETS == LISTS


@pytest.mark.parametrize("path", MAKERS)
def test_a_list_makes_no_more_queries_for_more_rows(owner: ApiClient, project: Project, path: str) -> None:
    counts = []
    for rows in (range(FEW), range(FEW, MANY)):
        for number in rows:
            MAKERS[path](owner, project, number)
        with CaptureQueriesContext(connection) as queries:
            document = owner.get(path.replace("<group_id>", project.id)).json()
        counts.append((len(queries), len(document["results"])))
    assert counts[0][0] == counts[1][0]
    assert counts[1][1] - counts[0][1] == MANY - FEW
