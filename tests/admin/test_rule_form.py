"""The form of a rule: the lines of its plot, the figures of its dry run, and what follows a save."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project
from alerting.configs import rule_lines as lines_of_rule
from alerting.models import AlertConfig
from automation.models import Host
from opsapi import clock
from opsapi.roles import Role
from tests.admin.configs import ADD, CONFIGS, do, send, typed_config
from tests.admin.operators import browser_with, page_of
from tests.admin.reading import shown
from tests.admin.typed import typed_in
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
CONDITION = {
    "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
    "metricThreshold.metricName": "CONNECTIONS",
    "metricThreshold.operator": "GREATER_THAN",
    "metricThreshold.threshold": "100",
}


def lines(console: Client, project: Project, metric: str = "CONNECTIONS", **more: Any) -> Any:
    return console.get(f"{CONFIGS}lines/", {"group": project.id, "metric": metric, **more})


def fill(project: Project, **numbers: float) -> None:
    """Reports of hosts by name, half an hour ago."""
    for name, number in numbers.items():
        ingest(project, host_report(name, CONNECTIONS=number), now=clock.now() - 30 * MINUTE)


def test_each_host_of_the_project_has_a_line(console: Client, project: Project) -> None:
    fill(project, db1=90, db2=150)
    fill(ProjectFactory.create(), db3=500)
    data = lines(console, project).json()
    assert [row["name"] for row in data["rows"]] == ["db1:27017", "db2:27017"]
    assert [max(filter(None, line["maximums"])) for line in data["chart"]["lines"]] == [90, 150]
    assert data["until"] - data["since"] == 7 * 86_400


def test_units_of_a_threshold_are_converted_to_units_of_the_plot(console: Client, project: Project) -> None:
    ingest(project, host_report("db1", CACHE_USED_BYTES=3 * 2.0**30), now=clock.now() - 30 * MINUTE)
    chart = lines(console, project, "CACHE_USED_BYTES").json()["chart"]
    assert chart["units"] == "GB"
    factors = chart["factors"]
    assert factors["GIGABYTES"] == 1
    assert factors["MEGABYTES"] * 1024 == pytest.approx(1)
    assert factors[""] * 2**30 == pytest.approx(1)


def test_a_metric_without_measurements_has_no_lines(console: Client, project: Project) -> None:
    fill(project, db1=90)
    assert lines(console, project, "CACHE_USED_BYTES").json()["chart"] is None


def test_requested_hosts_are_drawn_before_others(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_of_rule, "MOST_HOSTS", 2)
    fill(project, db1=1, db2=2, db3=3)
    last = Host.objects.get(hostname="db3").id
    data = lines(console, project, host=last).json()
    assert [row["name"] for row in data["rows"]] == ["db3:27017", "db1:27017"]
    assert "1 more" in data["leftOut"]


def test_nobody_sees_lines_of_a_project_without_a_role_in_it(console: Client, project: Project) -> None:
    fill(project, db1=90)
    stranger = browser_with(Role.GROUP_OWNER, project=ProjectFactory())
    assert lines(stranger, project).status_code == 404
    assert lines(stranger, project).json() == lines(console, project, "NONSENSE").json()
    assert lines(browser_with(Role.GROUP_READ_ONLY, project=project), project).status_code == 200


def test_the_trial_says_hosts_and_the_longest_alert(console: Client, project: Project) -> None:
    for minutes, number in ((50, 150.0), (40, 80.0), (30, 120.0), (10, 70.0)):
        ingest(project, host_report("db1", CONNECTIONS=number), now=clock.now() - minutes * MINUTE)
    page = send(console, ADD, typed_config(project.id, **CONDITION) | {"try": "yes"}).content.decode()
    assert re.search(
        r"have alerted 2 times on 1 host in the last 7 days: \d notifications, the longest alert 20 min",
        page,
    )
    [hosts] = re.findall(r'<script id="trial-hosts" type="application/json">(.*?)</script>', page)
    assert json.loads(hosts) == [Host.objects.get().id]


def test_a_suggested_threshold_can_be_used(console: Client, project: Project) -> None:
    for minute, number in enumerate((110.0, 1.0, 120.0, 1.0, 300.0, 1.0, 400.0, 1.0)):
        ingest(project, host_report("db1", CONNECTIONS=number), now=clock.now() - (60 - minute) * MINUTE)
    page = send(console, ADD, typed_config(project.id, **CONDITION) | {"try": "yes"}).content.decode()
    assert 'data-use-threshold="120" data-use-units="RAW"' in page


def test_save_and_test_leads_to_the_test(console: Client, project: Project) -> None:
    saved = send(console, ADD, typed_config(project.id, then_test="yes"))
    config = AlertConfig.objects.get()
    assert saved.headers["Location"] == do(config, "test")
    typed = typed_in(shown(console, do(config, "change")))
    assert send(console, do(config, "change"), typed | {"then_test": "yes"}).headers["Location"] == do(
        config, "test"
    )
    assert do(config, "test") not in send(console, do(config, "change"), typed).headers["Location"]


def test_a_rule_leads_to_its_form_with_another_notification(console: Client, project: Project) -> None:
    config = make_config(project)
    url = f"{do(config, 'change')}?add=notifications"
    assert f'href="{url}"' in shown(console, page_of(config))
    typed = typed_in(shown(console, url))
    assert typed["notifications[1].typeName"] == [""]
    assert "notifications[1].typeName" not in typed_in(shown(console, do(config, "change")))
    send(console, url, typed)
    assert config.settings.count() == 1
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert "?add=notifications" not in shown(reader, page_of(config))


def test_the_test_after_a_save_preselects_the_only_added_notification(
    console: Client, project: Project
) -> None:
    config = make_config(project)
    url = do(config, "change")
    typed = typed_in(shown(console, url)) | {"then_test": "yes"}
    mail = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": "0"}
    second, third, fourth = (
        {f"notifications[{row}].{name}": mail[name] for name in mail} for row in (1, 2, 3)
    )
    saved = send(console, url, typed | second)
    added = config.settings.latest("position")
    assert saved.headers["Location"] == f"{do(config, 'test')}?notification={added.id}"
    typed = typed_in(shown(console, url)) | {"then_test": "yes"}
    assert send(console, url, typed | third | fourth).headers["Location"] == do(config, "test")


def test_the_condition_is_typed_in_words(console: Client, project: Project) -> None:
    page = shown(console, do(make_config(project), "change"))
    for option in ('value="GREATER_THAN">above', 'value="GIGABYTES">GB', 'value="STARTS_WITH">starts with'):
        assert option in page
    assert 'value="HOSTNAME">Hostname' in page


def test_a_trial_after_the_save_repeats_nothing_and_warns_of_nothing(
    console: Client, project: Project
) -> None:
    page = typed_in(shown(console, ADD))
    typed = {**page, **typed_config(project.id), "once": page["once"]}
    assert send(console, ADD, typed).status_code == 302
    assert send(console, ADD, typed | {"try": "yes"}).status_code == 200
    assert "already done" not in shown(console, CONFIGS)
    assert AlertConfig.objects.count() == 1
