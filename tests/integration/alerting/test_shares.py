"""Projects that use more than their share of the workers' time wait behind others, and this is said once."""

from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals
from alerting.engine.muting import MuteDesk
from alerting.engine.share_counts import usage_add
from alerting.engine.usage_rules import SHARE_SECONDS
from alerting.models import Alert, MaintenanceWindow, ProjectUsage
from events.models import Event, Signal
from opsapi.ids import new_id
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_config, make_notification
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.overviews import HOUR, NOW, make_window
from tests.integration.alerting.pipeline import evaluate

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


def report(project: Project, hostname: str, now: datetime) -> None:
    ingest(project, host_report(hostname, reachable=False), now=now)
    Signal.objects.exclude(kind="hosts").delete()


def evaluated(now: datetime) -> str:
    """The project of the next turn."""
    before = set(Alert.objects.values_list("id", flat=True))
    assert evaluate_signals(now=now, clock=lambda: 0.0)
    [group_id] = Alert.objects.exclude(id__in=before).values_list("group_id", flat=True).distinct()
    return str(group_id)


def recorded() -> list[dict[str, str]]:
    """The facts of the events about the share of a project."""
    found = Event.objects.filter(event_type="GROUP_SHARE_EXCEEDED_AUDIT").order_by("created", "id")
    return [event.details for event in found]


def test_a_project_that_used_more_time_waits_behind_the_others(project: Project) -> None:
    other: Project = ProjectFactory.create()
    for each in (project, other):
        make_config(each)
    evaluate(START)
    usage_add(group_id=project.id, seconds=1.0, now=START)
    for now in (START, START + MINUTE):
        report(other, f"a{now.minute}", now)
        assert evaluated(now) == other.id  # so this project was served last
        for each in (project, other):
            report(each, f"b{now.minute}", now)
        assert [evaluated(now), evaluated(now)] == [other.id, project.id]
    for now in (START + 2 * MINUTE, START - MINUTE):  # the time of other minutes counts no more
        for each in (project, other):
            report(each, f"c{now.minute}", now)
        assert {evaluated(now), evaluated(now)} == {project.id, other.id}
    usage = ProjectUsage.objects.get(group=project)
    assert (usage.seconds, usage.exceeded) == (1.0, None)


def test_exceeding_the_share_is_recorded_once(project: Project) -> None:
    config_id = new_id()
    for minute in range(5):
        for _ in range(3):
            now = START + minute * MINUTE
            usage_add(group_id=project.id, seconds=SHARE_SECONDS / 2, config_id=config_id, now=now)
    assert recorded() == [{"alertConfigId": config_id}]
    for minute in (4, 5):  # the minute of the last excess, and a minute within the share
        now = START + minute * MINUTE
        usage_add(group_id=project.id, seconds=0.1, window_id=new_id(), now=now)
    usage = ProjectUsage.objects.get(group=project)
    assert (usage.config_id, usage.window_id) == (config_id, None)
    later = START + 14 * MINUTE
    usage_add(group_id=project.id, seconds=SHARE_SECONDS + 1, window_id=new_id(), now=later)
    assert [list(facts) for facts in recorded()] == [["alertConfigId"], ["maintenanceWindowId"]]
    assert not Signal.objects.filter(kind="event").exists()


def test_a_turn_counts_for_its_project_and_names_a_configuration(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.engine.evaluation.EVALUATION_SECONDS", 1_000)
    configs = [make_config(project, matchers=[]) for _ in range(2)]
    evaluate(START)
    dear = make_config(project)
    Signal.objects.all().delete()
    for config in configs:  # these are compared with a single host
        config.matchers = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "h1"}]
        config.save()
    report(project, "h1", START)
    ticks = partial(next, count(step=10))
    assert evaluate_signals(now=START, clock=ticks)
    usage = ProjectUsage.objects.get(group=project)
    assert usage.seconds > SHARE_SECONDS
    assert usage.exceeded
    assert usage.config_id in {dear.id, *(config.id for config in configs)}
    assert recorded() == [{"alertConfigId": usage.config_id}]


def test_comparisons_with_windows_count_for_their_project(project: Project) -> None:
    window = make_window(project, -HOUR, HOUR)
    pattern = {"fieldName": "HOSTNAME", "operator": "REGEX", "value": "db"}
    MaintenanceWindow.objects.filter(id=window.id).update(matchers=[pattern])
    facts = {"hostId": "0" * 24, "hostname": "db1", "port": 27017}
    message = make_notification(project, alert=make_alert(project, facts=facts), due=NOW)
    usage_add(group_id=project.id, seconds=SHARE_SECONDS, now=NOW)
    desk = MuteDesk(clock=partial(next, count(step=0.03)))
    for _ in range(5):
        desk.settle([message], now=NOW)
    desk.count(now=NOW)
    usage = ProjectUsage.objects.get(group=project)
    assert usage.seconds > SHARE_SECONDS
    assert usage.window_id == window.id
    desk.count(now=NOW)
    assert ProjectUsage.objects.get(group=project).seconds == usage.seconds


def test_a_short_turn_counts_for_nothing(project: Project) -> None:
    make_config(project)
    evaluate(START)
    report(project, "h1", START)
    assert evaluate_signals(now=START, clock=lambda: 0.0)
    assert not ProjectUsage.objects.exists()


def test_a_deleted_project_uses_nothing(project: Project) -> None:
    Project.objects.filter(id=project.id).update(deleted=START, org=None)
    usage_add(group_id=project.id, seconds=60.0, now=START)
    assert not ProjectUsage.objects.exists()
