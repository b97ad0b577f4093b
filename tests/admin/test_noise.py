"""The noise of alert configurations in their list and on their pages."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.test import Client

from accesslist.models import Project
from alerting.configs.console import AlertConfigAdmin
from alerting.models import AlertConfig
from automation.models import Host
from opsapi import clock
from opsapi.console.admin_urls import list_url, page_url
from tests.admin.reading import shown
from tests.factories.alerting import CONNECTIONS_ABOVE_100, make_alert, make_config, make_notification
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def noisy(project: Project, minutes: Sequence[int], *, messages: int = 0, **changes: object) -> AlertConfig:
    """A configuration whose alerts, all on one target, lasted so long, an hour after each other at least."""
    config = make_config(project)
    for place, length in enumerate(minutes):
        began = clock.now() - DAY + place * 30 * MINUTE
        times = {"created": began, "opens": began, "resolved": began + length * MINUTE, "status": "CLOSED"}
        alert = make_alert(project, config_id=config.id, target_key=config.id, **times, **changes)
        for _ in range(messages):
            make_notification(project, alert=alert, status="DELIVERED")
    return config


def order(console: Client, column: str) -> list[int]:
    """The places of the configurations in the list, the one with the largest figure first."""
    number = AlertConfigAdmin.list_display.index(column) + 1
    text = shown(console, f"{list_url(AlertConfig)}?o=-{number}")
    ids = list(AlertConfig.objects.order_by("created", "id").values_list("id", flat=True))
    return sorted(range(len(ids)), key=lambda place: text.index(f"{ids[place]}/change"))


def test_the_list_shows_figures(console: Client, project: Project) -> None:
    noisy(project, [4, 4, 4, 4], messages=2)
    text = shown(console, list_url(AlertConfig))
    for name, value in (("per_week", "4.0"), ("median", "4 min"), ("flaps", "3"), ("messages", "8")):
        cell = text.partition(f'class="field-{name}')[2] or text.partition(f"field-{name}")[2]
        assert value in cell.partition("</td>")[0], name


@pytest.mark.parametrize("column", ["per_week", "flaps", "messages"])
def test_the_list_is_sorted_by_a_count(console: Client, project: Project, column: str) -> None:
    noisy(project, [1], messages=1)
    noisy(project, [1, 1, 1], messages=1)
    noisy(project, [1, 1], messages=1)
    assert order(console, column) == [1, 2, 0]


def test_the_list_is_sorted_by_duration_and_acknowledgement(console: Client, project: Project) -> None:
    noisy(project, [5, 5])
    noisy(project, [9])
    noisy(project, [1], acknowledged_until=clock.now())
    assert order(console, "median") == [1, 0, 2]
    assert order(console, "acknowledged")[0] == 2


def test_the_page_of_a_configuration_suggests_a_delay(console: Client, project: Project) -> None:
    text = shown(console, page_url(noisy(project, [1, 1, 20, 20])))
    assert "With a delay of 2 min in all notifications, 2 instead of 4 alerts would have opened" in text
    assert "No alerts in 28 days." in shown(console, page_url(make_config(project)))


def test_the_page_of_a_configuration_suggests_a_threshold(console: Client, project: Project) -> None:
    begin = clock.now() - DAY
    for minute, number in enumerate((110.0, 1.0, 120.0, 1.0, 300.0, 1.0, 400.0, 1.0)):
        ingest(project, host_report("db1", CONNECTIONS=number), now=begin + minute * MINUTE)
    facts = {"hostId": Host.objects.get().id, "hostname": "db1", "port": 27017}
    config = make_config(project, **CONNECTIONS_ABOVE_100)
    for minute in range(0, 8, 2):
        at = begin + minute * MINUTE
        times = {"created": at, "opens": at, "resolved": at + MINUTE, "status": "CLOSED"}
        make_alert(project, config_id=config.id, metric_name="CONNECTIONS", facts=facts, **times)
    text = shown(console, page_url(config))
    assert "With a threshold of 120, 2 instead of 4 alerts with recorded values would have opened" in text
