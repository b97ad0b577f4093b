"""Pages and explanations end a comparison in a window, and read a bounded number of labels."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.configs.matchers import LABEL_SETS_AT_ONCE, Matcher, MatchSubject, compared_in_steps
from alerting.models import Alert, MaintenanceWindow
from alerting.windows.rules import WindowRule
from alerting.windows.store import COMPARE_SECONDS, muting_windows, rules_since_start
from automation.models import Cluster, Host
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.django_db

NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOSTS = 200
LOOKS = 20
"""The number of times that the code reads the clock until the time is over."""


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pattern of each step."""
    found: list[str] = []

    def compare(matcher: Matcher, subject: MatchSubject) -> Iterator[bool]:
        for is_match in compared_in_steps(matcher, subject):
            found.append(matcher.value)
            yield is_match

    monkeypatch.setattr("alerting.windows.rules.compared_in_steps", compare)
    return found


def make_cluster(project: Project, hosts: int = HOSTS) -> Cluster:
    """A cluster of hosts with different labels."""
    cluster = Cluster.objects.create(group=project, name=f"orders{hosts}", created=NOW)
    Host.objects.bulk_create(
        Host(
            group=project,
            hostname=f"db{number}",
            port=27017 + hosts,
            type_name="STANDALONE",
            created=NOW,
            cluster=cluster,
            labels={"env": f"staging{number}"},
        )
        for number in range(hosts)
    )
    return cluster


def make_window(project: Project, *matchers: tuple[str, str], **changes: Any) -> MaintenanceWindow:
    """A window in effect; each matcher is a field and a pattern."""
    stored = [{"fieldName": field, "operator": "REGEX", "value": value} for field, value in matchers]
    values = {"alert_types": ["CLUSTER"], "start": NOW - HOUR, "end": NOW + HOUR, "matchers": stored or None}
    return MaintenanceWindow.objects.create(group=project, created=NOW, updated=NOW, **(values | changes))


def alert_about(cluster: Cluster) -> Alert:
    facts = {"clusterId": cluster.id, "clusterName": cluster.name}
    return make_alert(cluster.group, event_type="CLUSTER_MONGOS_IS_MISSING", facts=facts)


def ticking() -> Any:
    """A clock that ends the time after LOOKS reads."""
    return partial(next, count(0.0, COMPARE_SECONDS / LOOKS))


def test_a_window_is_left_when_the_time_is_over(project: Project, compared: list[str]) -> None:
    window = make_window(project, *[("LABEL", f"staging|{number}") for number in range(10)])
    alert = alert_about(make_cluster(project))
    found = muting_windows([alert], now=NOW, clock=ticking())
    assert (found.is_muted(alert.id), found.unknown) == (None, {alert.id})
    assert 0 < len(compared) <= LOOKS
    compared.clear()
    cut = rules_since_start(alert, most=9, clock=ticking())
    assert (cut.rules, cut.is_cut) == ([], True)
    assert 0 < len(compared) <= LOOKS
    compared.clear()
    whole = rules_since_start(alert, most=9, clock=lambda: 0.0)
    assert ([rule.id for rule in whole.rules], whole.is_cut) == ([window.id], False)
    assert len(compared) == 10 * HOSTS // LABEL_SETS_AT_ONCE
    assert muting_windows([alert], now=NOW, clock=lambda: 0.0) == {alert.id: window}


def test_occurrences_are_computed_until_the_time_of_the_project_is_over(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ProjectFactory.create()
    for _ in range(5):
        make_window(project)
    make_window(other)
    alerts = [alert_about(make_cluster(each, 1)) for each in (project, other)]
    now, occurrences, computed = 0.0, WindowRule.occurrences, []

    def dear(rule: WindowRule, after: datetime) -> Any:
        nonlocal now
        computed.append(rule.id)
        now += COMPARE_SECONDS / 4 if MaintenanceWindow.objects.get(id=rule.id).group_id == project.id else 0
        return occurrences(rule, after)

    monkeypatch.setattr(WindowRule, "occurrences", dear)
    found = muting_windows(alerts, now=NOW, clock=lambda: now)
    assert [found.is_muted(alert.id) for alert in alerts] == [None, True]
    assert len(computed) == 2 + 1


def test_labels_of_too_many_hosts_are_not_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alerting.windows.store.MOST_LABELED_HOSTS", 10)
    by_label = make_window(project, ("LABEL", "staging"))
    small, large = alert_about(make_cluster(project, 4)), alert_about(make_cluster(project, 7))
    with CaptureQueriesContext(connection) as queries:
        found = muting_windows([small, large], now=NOW)
    assert (found, found.unknown) == ({small.id: by_label}, {large.id})
    [labels] = [query["sql"] for query in queries if "DISTINCT" in query["sql"]]
    assert small.facts["clusterId"] in labels
    assert large.facts["clusterId"] not in labels
    assert muting_windows([large], now=NOW) == {large.id: by_label}
    # Another window decides without labels.
    whole = make_window(project, end=NOW + HOUR / 2)
    found = muting_windows([small, large], now=NOW)
    assert (found, found.unknown) == ({small.id: by_label, large.id: whole}, set())


def test_an_explanation_says_that_labels_of_too_many_hosts_were_not_compared(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.windows.store.MOST_LABELED_HOSTS", 10)
    make_window(project, ("LABEL", "staging"))
    whole = make_window(project)
    found = rules_since_start(alert_about(make_cluster(project, 11)), most=9)
    assert ([rule.id for rule in found.rules], found.is_cut) == ([whole.id], True)
