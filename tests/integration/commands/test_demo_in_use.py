"""manage.py demo in an installation that people use."""

import io
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from accesslist.models import AccessListEntry, ApiKey, Project, User
from alerting.evaluation import evaluate_signals
from alerting.models import Alert, Notification
from events.models import Signal
from opsapi import clock
from opsapi.roles import Role
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, make_key
from tests.factories.alerting import make_alert, make_notification

pytestmark = pytest.mark.django_db
DEMO_PROJECTS = 4


def run() -> str:
    """What the command prints."""
    printed = io.StringIO()
    call_command("demo", stdout=printed)
    return printed.getvalue()


@pytest.mark.slow
def test_it_adds_demo_data_to_existing_data_and_blocks_no_key_that_was_admitted_before() -> None:
    owner = make_key(Role.GLOBAL_OWNER)
    call_command("bootstrap", "ada", stdout=io.StringIO())
    mine, now = ProjectFactory.create(name="first-project"), clock.now()
    alert = make_alert(mine)
    make_notification(mine, alert=alert, due=now + timedelta(hours=1))
    while evaluate_signals(now=now):
        pass
    kept = _rows_of(mine)
    public, private = re.findall(r"(\w{6}):([0-9a-f-]{31})", run())[0]
    assert Project.objects.count() == 1 + DEMO_PROJECTS
    assert _rows_of(mine) == kept
    ada = User.objects.get(username="ada")
    assert list(ada.grants.values_list("role", flat=True)) == [Role.GLOBAL_OWNER]
    assert ApiClient(KeyPair("", public, private)).get("/globalEvents").status_code == 200
    assert not AccessListEntry.objects.filter(api_key=None).exists()
    assert ApiClient(owner).get("/orgs", REMOTE_ADDR="203.0.113.200").status_code == 200


@each("waiting", ["signal", "tracking alert", "notification"])
def test_it_takes_no_work_from_the_worker(waiting: str) -> None:
    mine, now = ProjectFactory.create(), clock.now()
    if waiting == "signal":
        Signal.objects.create(created=now, group_id=mine.id, kind="VERSIONS", payload={})
    elif waiting == "tracking alert":
        make_alert(mine, status="TRACKING", opens=now)
    else:
        make_notification(mine, alert=make_alert(mine), due=now)
    kept = (_rows_of(mine), Signal.objects.count(), ApiKey.objects.count())
    with pytest.raises(CommandError, match="busy"):
        run()
    assert (_rows_of(mine), Signal.objects.count(), ApiKey.objects.count()) == kept
    assert Project.objects.count() == 1


def test_it_names_conflicts_and_adds_nothing() -> None:
    ProjectFactory.create(name="payments")
    with pytest.raises(CommandError, match="payments"):
        run()
    assert Project.objects.count() == 1
    assert not User.objects.exists()


def _rows_of(project: Project) -> list[object]:
    alerts = Alert.objects.filter(group=project).order_by("id").values()
    return [*alerts, *Notification.objects.filter(group=project).order_by("id").values()]
