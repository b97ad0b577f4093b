"""manage.py demo in an installation that people use."""

import io
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from pytest_django import Settings

from accesslist.models import AccessListEntry, ApiKey, Project, RoleGrant, Team, User
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, AlertConfig, Notification, UnreachableHost
from automation.agents.changes import heartbeats_sweep
from automation.models import Agent, FleetWatch
from events.models import Signal
from opsapi import clock
from opsapi.roles import Role
from opsapi.sql import database_time
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, UserFactory, make_key
from tests.factories.alerting import make_alert, make_global_config, make_notification
from tests.factories.automation import host_report, ingest

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
    demo = ApiClient(KeyPair("", public, private))
    assert demo.get("/groups").json()["totalCount"] == DEMO_PROJECTS
    assert demo.get("/globalEvents").status_code == 403
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


@pytest.mark.slow
def test_it_takes_other_names_if_its_names_are_in_use() -> None:
    for name in ("payments", "demo payments", "catalogue"):
        ProjectFactory.create(name=name, org__name="Harbour Bank")
    for name in ("demo", "demo-2", "MIRA@harbour.example"):
        UserFactory.create(username=name)
    printed = run()
    names = {"demo payments 2", "customer-accounts", "demo catalogue", "recommendations"}
    assert set(_demo_projects().values_list("name", flat=True)) == names
    orgs = set(_demo_projects().values_list("org__name", flat=True))
    assert orgs == {"demo Harbour Bank", "Brightside Media"}
    assert all(
        name in printed for name in (*names, "demo-3 ", "mira-2@harbour.example", "lena@harbour.example")
    )
    assert Team.objects.get().members.filter(username="mira-2@harbour.example").exists()


@pytest.mark.slow
def test_a_user_with_its_name_is_no_demonstration_and_a_second_run_names_its_owner() -> None:
    UserFactory.create(username="demo")
    first, counted = run(), Project.objects.count()
    assert "demo-2 " in first
    second = run()
    assert "nothing changed" in second
    assert "as demo-2." in second
    assert all(name in second for name in _demo_projects().values_list("name", flat=True))
    assert Project.objects.count() == counted == DEMO_PROJECTS


def test_a_limit_that_it_reaches_is_named_and_nothing_is_added(settings: Settings) -> None:
    settings.OPSAPI_MAX_HOSTS = 3
    with pytest.raises(CommandError, match="OPSAPI_MAX_HOSTS"):
        run()
    assert not Project.objects.exists()
    assert not User.objects.exists()


@pytest.mark.slow
class TestWhatConcernsAllProjects:
    """An installation with an owner stays as it is."""

    @pytest.fixture(autouse=True)
    def _owned(self, db: None) -> None:
        call_command("bootstrap", "ada", stdout=io.StringIO())
        while evaluate_signals(now=clock.now()):
            pass

    def test_nobody_gets_a_role_in_the_installation(self) -> None:
        before = self._global_grants()
        run()
        assert self._global_grants() == before
        demo = RoleGrant.objects.filter(user__username="demo")
        assert set(demo.values_list("role", "org__name")) == {
            (Role.ORG_OWNER, "Harbour Bank"),
            (Role.ORG_OWNER, "Brightside Media"),
        }

    def _global_grants(self) -> list[object]:
        return list(RoleGrant.objects.filter(org=None, project=None).order_by("id").values())

    def test_global_configurations_stay_and_notify_nobody_of_it(self) -> None:
        for event_type in ("HOST_DOWN", "NEW_HOST"):
            make_global_config(eventTypeName=event_type)
        make_global_config(eventTypeName="NO_PRIMARY", enabled=False)
        while evaluate_signals(now=clock.now()):
            pass
        before = list(AlertConfig.objects.filter(group=None).order_by("id").values())
        run()
        assert list(AlertConfig.objects.filter(group=None).order_by("id").values()) == before
        assert not Alert.objects.filter(is_global=True).exists()
        assert not Notification.objects.exclude(alert__is_global=False).filter(group=None).exists()
        own = Notification.objects.exclude(channel=None).values_list("recipient", flat=True)
        assert own
        assert [each for each in own if not re.search(r"\.example(/|$)", each)] == []

    def test_what_is_known_of_receivers_stays(self, settings: Settings) -> None:
        now = clock.now()
        mail = f"smtp://{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
        for host in (mail, "https://hooks.example.com:443"):
            UnreachableHost.objects.create(
                host=host, failures=7, since=now - timedelta(days=9), next_try=now + timedelta(minutes=1)
            )
        before = list(UnreachableHost.objects.order_by("host").values())
        run()
        left = UnreachableHost.objects.exclude(host__contains="brightside.example")
        assert list(left.order_by("host").values()) == before
        assert Notification.objects.filter(status="DELIVERED", channel="EMAIL").exists()

    def test_heartbeats_and_the_agents_of_others_stay(self) -> None:
        mine, now = ProjectFactory.create(), database_time()
        ingest(mine, host_report(), now=now)
        heartbeats_sweep(clock=lambda: now)
        while evaluate_signals(now=now):
            pass
        kept = self._heartbeats()
        run()
        assert self._heartbeats() == kept
        FleetWatch.objects.update(
            counting_since=now - timedelta(minutes=5), swept=now - timedelta(seconds=15)
        )
        Agent.objects.update(last_report=now - timedelta(minutes=5))
        heartbeats_sweep(clock=lambda: now)
        down = Agent.objects.filter(down=True, demonstration=False)
        assert list(down.values_list("group_id", flat=True)) == [mine.id]
        assert Agent.objects.filter(down=True).count() == 2

    def _heartbeats(self) -> list[object]:
        agents = Agent.objects.filter(demonstration=False)
        return [*FleetWatch.objects.values(), *agents.order_by("id").values()]


def _demo_projects() -> QuerySet[Project]:
    return Project.objects.filter(agents__demonstration=True).distinct()


def _rows_of(project: Project) -> list[object]:
    alerts = Alert.objects.filter(group=project).order_by("id").values()
    return [*alerts, *Notification.objects.filter(group=project).order_by("id").values()]
