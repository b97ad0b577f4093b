"""The noise of alert configurations in their list and on their pages."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.configs.console import NOT_COUNTED, AlertConfigAdmin
from alerting.insight import noise_counts
from alerting.insight.noise_counts import alerts_per_day
from alerting.models import AlertConfig
from automation.models import Host
from opsapi import clock
from opsapi.console.admin_urls import list_url, page_url
from opsapi.roles import Grant, Role
from tests.admin.reading import shown
from tests.client import ApiClient
from tests.factories.accesslist import make_key
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


def order(console: Client, query: str) -> list[int]:
    """The places of the configurations in the list, in the order that the query asks for."""
    text = shown(console, f"{list_url(AlertConfig)}?{query}")
    ids = list(AlertConfig.objects.order_by("created", "id").values_list("id", flat=True))
    return sorted(range(len(ids)), key=lambda place: text.index(f"{ids[place]}/change"))


def row_of(console: Client, config: AlertConfig) -> str:
    """The HTML of the row of a configuration in the list."""
    rows = shown(console, list_url(AlertConfig)).split('class="data-row')
    return next(row for row in rows if f"{config.id}/change" in row)


def test_the_list_shows_figures(console: Client, project: Project) -> None:
    row = row_of(console, noisy(project, [4, 4, 4, 4], messages=2))
    for words in ("<b>4.0</b>", "median 4 min", "3 flaps", "8 messages"):
        assert words in row


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting never ends in time."""
    monkeypatch.setattr(noise_counts, "NOISE_SECONDS", 0.01)
    monkeypatch.setattr(noise_counts, "_NOISE", "SELECT pg_sleep(60)")
    monkeypatch.setitem(cast(dict[str, str], noise_counts.FIGURES), "alerts", "SELECT 1.0 FROM pg_sleep(60)")


@pytest.mark.usefixtures("endless")
def test_noise_that_is_not_counted_in_time_is_said(console: Client, project: Project) -> None:
    config = noisy(project, [4, 4])
    assert NOT_COUNTED in row_of(console, config)
    assert NOT_COUNTED in shown(console, page_url(config))
    answer = ApiClient(make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id))).get(
        f"/groups/{project.id}/alertConfigs/{config.id}/noise"
    )
    assert (answer.status_code, answer.json()["errorCode"]) == (503, "SERVICE_UNAVAILABLE")


@pytest.mark.usefixtures("endless")
@pytest.mark.parametrize("query", ["o=-4", "noisiest=alerts"])
def test_a_list_that_is_not_sorted_in_time_has_its_usual_order(
    console: Client, project: Project, query: str
) -> None:
    config = noisy(project, [4, 4])
    answer = console.get(f"{list_url(AlertConfig)}?{query}&q=HOST", follow=True)
    assert answer.redirect_chain == [(f"{list_url(AlertConfig)}?q=HOST", 302)]
    assert f"{config.id}/change" in answer.content.decode()
    assert "usual order" in answer.content.decode()


def test_a_rule_without_alerts_shows_no_figures(console: Client, project: Project) -> None:
    row = row_of(console, make_config(project))
    assert "No alerts in 28 days." in row
    assert "median" not in row
    assert "flap" not in row


def test_the_spark_line_has_a_bar_for_each_day(console: Client, project: Project) -> None:
    row = row_of(console, noisy(project, [1, 1, 1]))
    bars = re.findall(r'<rect x="(\d+)" y="\d+" width="\d+" height="(\d+)"( class="spark-none")?/>', row)
    assert len(bars) == 28
    assert [place for place, (_, _, is_none) in enumerate(bars) if not is_none] == [26, 27]
    assert "<title>3 alerts in 28 days, at most 2 on a day, 2 in the last day.</title>" in row


def test_the_spark_lines_of_a_page_read_alerts_once(project: Project) -> None:
    configs = [noisy(project, [1, 2]) for _ in range(3)]
    with CaptureQueriesContext(connection) as captured:
        days = alerts_per_day(configs, now=clock.now())
    assert sum("alerting_alert" in query["sql"] for query in captured.captured_queries) == 1
    assert [sum(days[config.id]) for config in configs] == [2, 2, 2]


@pytest.mark.parametrize("figure", ["alerts", "flaps", "messages"])
def test_the_list_is_ordered_by_a_count(console: Client, project: Project, figure: str) -> None:
    noisy(project, [1], messages=1)
    noisy(project, [1, 1, 1], messages=1)
    noisy(project, [1, 1], messages=1)
    assert order(console, f"noisiest={figure}") == [1, 2, 0]


def test_the_list_is_ordered_by_duration_and_acknowledgement(console: Client, project: Project) -> None:
    noisy(project, [5, 5])
    noisy(project, [9])
    noisy(project, [1], acknowledged_until=clock.now())
    assert order(console, "noisiest=median") == [1, 0, 2]
    assert order(console, "noisiest=acknowledged")[0] == 2


@pytest.mark.parametrize(("sign", "expected"), [("-", [2, 1, 0]), ("", [1, 2, 0])])
def test_rules_without_alerts_are_last_in_both_directions(
    console: Client, project: Project, sign: str, expected: list[int]
) -> None:
    make_config(project)
    noisy(project, [1])
    noisy(project, [1, 1])
    number = AlertConfigAdmin.list_display.index("per_week") + 1
    assert order(console, f"o={sign}{number}") == expected


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
