"""Delivery over time on the Channels page: messages by hour, and what is not known has no number."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.destinations import delivery_hours
from alerting.destinations.delivery_hours import DeliveryRange, delivery_chart
from alerting.engine.models import Notification
from opsapi.api.principal import VisibleScope
from opsapi.console.widgets import Chart
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.admin.operators import operator_with
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_global_config, make_notification
from tests.integration.alerting.overviews import ALL, NOW

pytestmark = pytest.mark.django_db

PAGE = "/admin/channels/"
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
RUNNING = NOW.replace(minute=0, second=0, microsecond=0)


def message(project: Project, status: str, created: datetime = NOW, **changes: Any) -> Notification:
    alert = changes.pop("alert") if "alert" in changes else make_alert(project)
    return make_notification(
        project, **{"alert": alert, "status": status, "created": created, "due": created, **changes}
    )


def chart(shown: DeliveryRange = DeliveryRange.DAY, scope: VisibleScope = ALL) -> Chart:
    return delivery_chart(scope, shown, NOW)[0]


def counted(
    shown: DeliveryRange = DeliveryRange.DAY, scope: VisibleScope = ALL
) -> Mapping[datetime, list[Any]]:
    """The hours with a message: sent, waiting, failed."""
    return {hour.start: list(numbers) for hour, numbers in chart(shown, scope).rows if any(numbers)}


def test_messages_are_counted_by_hour_and_outcome(project: Project) -> None:
    for status in ("DELIVERED", "DELIVERED", "FAILED", "PENDING", "DROPPED"):
        message(project, status, RUNNING)
    message(project, "FAILED", RUNNING - SECOND)
    assert counted() == {
        RUNNING: [2, 1, 1],
        RUNNING - HOUR: [0, 0, 1],
    }


@each(
    ("changes", "waits"),
    [
        ({"due": NOW}, True),
        ({"due": NOW, "channel": None}, True),
        ({"due": NOW + HOUR}, False),
        ({"due": NOW + HOUR, "attempts": 1, "reason": "refused"}, True),
        ({"due": NOW, "silenced_by": new_id()}, False),
    ],
    ids=["due", "undecided", "later", "tried again", "muted"],
)
def test_messages_wait_if_they_are_due_and_nothing_holds_them_back(
    project: Project, changes: dict[str, Any], waits: bool
) -> None:
    message(project, "PENDING", RUNNING, **changes)
    assert counted() == ({RUNNING: [0, 1, 0]} if waits else {})


@each(("shown", "hours"), [(DeliveryRange.DAY, 24), (DeliveryRange.WEEK, 168)])
def test_the_first_hour_is_whole_and_messages_before_it_are_left_out(
    project: Project, shown: DeliveryRange, hours: int
) -> None:
    first = RUNNING - (hours - 1) * HOUR
    message(project, "DELIVERED", first)
    message(project, "DELIVERED", first - SECOND)
    assert len(chart(shown).rows) == hours
    assert list(counted(shown).values()) == [[1, 0, 0]]


def test_hours_that_were_not_counted_have_no_number(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ago in range(3):
        message(project, "DELIVERED", RUNNING - ago * HOUR)
    monkeypatch.setattr(delivery_hours, "MOST_COUNTED", 3)
    assert delivery_chart(ALL, DeliveryRange.DAY, NOW)[1] == ""
    monkeypatch.setattr(delivery_hours, "MOST_COUNTED", 2)
    cut, note = delivery_chart(ALL, DeliveryRange.DAY, NOW)
    assert list(cut.rows[-1][1]) == [1, 0, 0]
    assert {tuple(numbers) for _, numbers in cut.rows[:-1]} == {(None, None, None)}
    assert "newest 2 messages" in note
    assert not cut.is_empty


def test_a_reader_sees_messages_of_own_configurations_only(project: Project) -> None:
    mine = ProjectFactory.create()
    message(mine, "DELIVERED")
    message(project, "DELIVERED")
    message(mine, "DELIVERED", alert=make_alert(mine, is_global=True))
    of_all = make_global_config().settings.get().id
    message(mine, "DELIVERED", alert=None, event_id=new_id(), setting_id=of_all)
    scope = VisibleScope(group_ids=frozenset({mine.id}))
    assert list(counted(scope=scope).values()) == [[1, 0, 0]]


def test_the_chart_has_as_many_statements_for_many_messages_as_for_one(project: Project) -> None:
    numbers = []
    for many in (1, 12):
        for ago in range(many):
            message(ProjectFactory.create(), "DELIVERED", RUNNING - ago * HOUR)
        with CaptureQueriesContext(connection) as queries:
            chart()
        numbers.append(len(queries))
    assert numbers == [2, 2]


def test_the_page_shows_the_chosen_time_and_keeps_its_parameters(console: Client, project: Project) -> None:
    make_notification(project, status="DELIVERED")
    for given, hours in (("", 24), ("24h", 24), ("7d", 168), ("9y", 24)):
        context = console.get(PAGE, {"last": given, "created": "x"}).context
        assert len(context["chart"].rows) == hours, given
        assert [choice["is_shown"] for choice in context["ranges"]] == [hours == 24, hours == 168]
        assert [choice["url"] for choice in context["ranges"]] == [
            "?last=24h&created=x",
            "?last=7d&created=x",
        ]


def test_without_messages_nothing_is_drawn(project: Project) -> None:
    _, browser = operator_with(Role.GROUP_READ_ONLY, project=project)
    page = browser.get(PAGE).content.decode()
    assert "No message was due in the last 24 h." in page
    assert "chart.js" not in page
