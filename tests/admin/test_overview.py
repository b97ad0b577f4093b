"""The start page: the state of the installation, for users who can read it."""

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from urllib.parse import unquote

import pytest
import time_machine
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from accesslist.models import Project, User
from alerting.engine.leases import worker_seen, worker_stuck
from alerting.models import Alert, MaintenanceWindow, WorkerHeartbeat
from automation import panels
from automation.models import Agent, FleetWatch, StoredDay
from events.models import Event, Signal
from opsapi import clock
from opsapi.clock import parse_time, time_words
from opsapi.first_rows import MOST_COUNTED
from opsapi.outgoing_proxy import OutgoingProxy
from opsapi.roles import Role
from opsapi.sql import database_time
from tests.admin.operators import browser_with
from tests.admin.rows import record_event
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import (
    make_alert,
    make_config,
    make_destination,
    make_global_config,
    make_notification,
)
from tests.factories.automation import host_report, ingest, make_agent, make_host

HOUR = timedelta(hours=1)
HOSTILE = "<script>alert(1)</script>\"'&"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;"
PANELS = ("alerts", "notifications", "destinations", "windows", "hosts", "unheard", "agents")
OF_THE_INSTALLATION = ("workers",)
OTHERS = ("notices", "checklists", "numbers", "events")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The free space of the real disk changes between two requests."""
    monkeypatch.setattr(panels, "database_disk", lambda: None)
    cache.clear()
    yield
    cache.clear()


def fill(project: Project, name: str = "db1") -> None:
    """A row in every panel, and an event, of things of that name."""
    now = clock.now()
    facts = {"hostname": name, "port": 27017}
    alert = make_alert(project, facts=facts)
    setting = make_config(project).settings.get()
    make_notification(project, alert=alert, status="FAILED", attempts=1, reason="refused", recipient=name)
    waiting = {"attempts": 2, "reason": name, "due": now + HOUR, "setting_id": setting.id}
    make_notification(project, event_id=record_event(project, name).id, **waiting)
    make_destination(project, recipient=name)
    MaintenanceWindow.objects.create(
        group=project,
        alert_types=["HOST"],
        start=now - HOUR,
        end=now + HOUR,
        description=name,
        created=now,
        updated=now,
    )
    make_host(project, name, down=True, replica_set_name=name)
    make_host(project, f"{name}-timed-out", last_report=now - HOUR)
    make_agent(project, name, down=True)
    StoredDay.objects.create(group=project, day=now.date(), octets=1)


def fill_installation(name: str = "worker") -> None:
    """A row in each panel that belongs to no project."""
    now = clock.now()
    WorkerHeartbeat.objects.create(name=name, seen=now)


def start_page(browser: Client, name: str = "index") -> str:
    """The page, or the parts its script asks for."""
    answer = browser.get(reverse(f"admin:{name}"))
    assert answer.status_code == 200
    return answer.content.decode()


def panel(page: str, name: str) -> str:
    """One part of it."""
    found = re.search(rf'<section id="overview-{name}".*?</section>', page, re.DOTALL)
    return found[0] if found else ""


def numbers(page: str) -> dict[str, str]:
    """The numbers at the top, by what they are of."""
    found = re.findall(r"<strong>(.*?)</strong>\s*<span>(.*?)</span>", page, re.DOTALL)
    return {what: number for number, what in found}


class TestWhoSeesWhat:
    """Of projects and of the installation, as by the API."""

    def test_a_global_reader_sees_everything(self, project: Project, console: Client) -> None:
        fill(project, "mine")
        fill_installation()
        page = start_page(console)
        for name in PANELS:
            assert "mine" in panel(page, name), name
            assert project.name in panel(page, name), name
        for name in OF_THE_INSTALLATION:
            assert "worker" in panel(page, name), name

    def test_the_most_urgent_panel_is_first(self, console: Client) -> None:
        assert list(numbers(start_page(console))) == [
            "alerts open or pending",
            "hosts down",
            "hosts without data",
            "agents not reporting",
            "notifications failing",
            "destinations failing",
            "windows active or scheduled",
            "workers in the last 24 hours",
        ]

    def test_a_project_reader_sees_only_their_projects(self, project: Project) -> None:
        other: Project = ProjectFactory.create(name="theirs")
        fill(project, "mine")
        fill(other, "foreign")
        fill_installation("secret-machine")
        browser = browser_with(Role.GROUP_READ_ONLY, project=project)
        for address in ("index", "overview"):
            page = start_page(browser, address)
            assert all("mine" in panel(page, name) for name in PANELS)
            for hidden in ("foreign", "theirs", other.id, "secret-machine"):
                assert hidden not in page
            assert not any(panel(page, name) for name in OF_THE_INSTALLATION)
            assert set(numbers(page).values()) == {"1", "2"}
            assert numbers(page)["notifications failing"] == "2"
            assert page.count("<td>1</td>") == 1

    def test_alerts_have_the_names_of_their_rules(self, console: Client, project: Project) -> None:
        make_alert(project, config_id=make_config(project, name="Nightly <restore>").id)
        hidden = make_global_config(name="Of the installation")
        make_alert(project, config_id=hidden.id, is_global=True)
        page = panel(start_page(console), "alerts")
        assert "Nightly &lt;restore&gt;" in page
        assert "Of the installation" in page
        reader = browser_with(Role.GROUP_READ_ONLY, project=project)
        page = panel(start_page(reader), "alerts")
        assert "Nightly &lt;restore&gt;" in page
        assert "Of the installation" not in page

    def test_a_project_reader_does_not_see_recipients_of_global_configurations(
        self, project: Project
    ) -> None:
        fill(project)
        Alert.objects.update(is_global=True)
        make_notification(
            project, event_id="e" * 24, status="FAILED", attempts=1, reason="no", recipient="whom"
        )
        mine = numbers(start_page(browser_with(Role.GROUP_OWNER, project=project)))
        everything = numbers(start_page(browser_with(Role.GLOBAL_READ_ONLY)))
        assert (mine["notifications failing"], everything["notifications failing"]) == ("1", "3")

    def test_a_member_of_an_organization_without_projects_sees_its_events(self, project: Project) -> None:
        fill(project)
        made = {"created": clock.now(), "event_type": "ORG_RENAMED", "details": {}}
        Event.objects.create(org_id=project.org_id, **made)
        page = start_page(browser_with(Role.ORG_MEMBER, org=project.org))
        assert set(numbers(page).values()) == {"0"}
        assert "1 in total" in panel(page, "events")

    @each("name", ["index", "overview"])
    def test_visitors_are_redirected_to_the_log_in(self, project: Project, name: str) -> None:
        url = reverse(f"admin:{name}")
        answer = Client().get(url)
        assert (answer.status_code, answer["Location"]) == (302, f"{reverse('admin:login')}?next={url}")


class TestWhatIsShown:
    """Rows that lead somewhere, and words where there are none."""

    @pytest.mark.slow
    def test_every_link_leads_to_a_page(self, project: Project, console: Client) -> None:
        fill(project)
        fill_installation("https://hooks.example.com/a_b c")
        links = set(re.findall(r'href="(.*?)"', start_page(console, "overview")))
        assert len(links) > 15
        for link in links:
            answer = console.get(unescape(link), follow=True)
            assert answer.status_code == 200, link

    def test_a_panel_links_to_the_list_of_the_counted_rows(self, project: Project, console: Client) -> None:
        fill(project, "down")
        make_host(project, "up")
        url = unescape(re.findall(r'href="(.*?)"', panel(start_page(console), "hosts"))[0])
        listed = console.get(url).content.decode()
        assert "down:27017" in listed
        assert "up:27017" not in listed

    @each("name", [*PANELS, "events"])
    def test_an_empty_panel_explains_itself(self, console: Client, name: str) -> None:
        page = panel(start_page(console), name)
        assert "overview-empty" in page
        assert "<table" not in page

    def test_a_missing_worker_is_shown_to_everybody(self, project: Project, console: Client) -> None:
        WorkerHeartbeat.objects.create(name="late", seen=clock.now() - timedelta(minutes=2))
        reader = browser_with(Role.GROUP_READ_ONLY, project=project)
        for browser in (console, reader):
            assert "No worker is running" in start_page(browser)
        fill_installation()
        for browser in (console, reader):
            assert "No worker is running" not in start_page(browser)

    def test_that_alerts_or_messages_are_late_is_said_to_everybody(
        self, project: Project, console: Client
    ) -> None:
        fill_installation()
        reader = browser_with(Role.GROUP_READ_ONLY, project=project)
        for browser in (console, reader):
            assert "are late" not in start_page(browser)
        before = clock.now() - timedelta(minutes=3)
        Signal.objects.create(created=before, group_id=project.id, kind="EVENT", payload={})
        make_notification(project, due=before)
        for browser in (console, reader):
            page = start_page(browser)
            assert "Alerts are late" in page
            assert "Messages are late" in page

    def test_a_wrong_clock_is_said_to_everybody(self, project: Project, console: Client) -> None:
        worker_seen(name="host:1", now=clock.now(), clock_ahead=timedelta(minutes=10))
        for browser in (console, browser_with(Role.GROUP_READ_ONLY, project=project)):
            assert "10 min ahead of" in start_page(browser)

    def test_a_worker_that_was_restarted_because_of_a_stuck_loop_is_shown(self, console: Client) -> None:
        worker_stuck(name="host:1", loop="evaluate", now=clock.now() - timedelta(hours=2))
        assert "evaluate, 2 h ago" in panel(start_page(console), "workers")

    @each(
        ("swept", "counting", "text"),
        [
            (15, 600, None),
            (15, 60, "because the platform was away or no agent reported"),
            (600, 6000, "until a worker runs"),
            (-600, 6000, "a clock was wrong"),
        ],
    )
    def test_whether_timeouts_are_noticed_is_said_to_everybody(
        self, project: Project, console: Client, swept: int, counting: int, text: str | None
    ) -> None:
        now = database_time()
        times = {
            "swept": now - timedelta(seconds=swept),
            "counting_since": now - timedelta(seconds=counting),
        }
        FleetWatch.objects.update_or_create(id=1, defaults=times)
        reader = browser_with(Role.GROUP_READ_ONLY, project=project)
        assert "not noticed" not in start_page(console)
        ingest(project)
        FleetWatch.objects.update(**times)
        until = time_words(now - timedelta(seconds=counting) + timedelta(minutes=4))
        for browser in (console, reader):
            page = start_page(browser)
            assert ("are not noticed" in page) is (text is not None)
            assert (text or "") in page
            assert (until in page) is (counting < 240)

    def test_panels_of_agents_and_hosts_agree(self, project: Project, console: Client) -> None:
        ingest(project, host_report("db1"), now=clock.now() - timedelta(minutes=17))
        page = start_page(console)
        assert numbers(page)["hosts without data"] == numbers(page)["agents not reporting"] == "1"
        assert "17 min ago" in panel(page, "agents")
        Agent.objects.update(demonstration=True)
        page = start_page(console)
        assert numbers(page)["hosts without data"] == numbers(page)["agents not reporting"] == "0"

    def test_hostile_names_are_text(self, project: Project, console: Client) -> None:
        Project.objects.update(name=HOSTILE)
        fill(project, HOSTILE)
        fill_installation(HOSTILE)
        page = start_page(console)
        assert "<script>alert" not in page
        assert "&amp;lt;" not in page
        for name in (*PANELS, *OF_THE_INSTALLATION):
            assert ESCAPED in panel(page, name), name

    def test_an_alert_shows_whether_it_is_acknowledged(self, project: Project, console: Client) -> None:
        for changes in ({}, {"status": "TRACKING"}, {"acknowledged_until": clock.now() + HOUR}):
            make_alert(project, **changes)
        page = start_page(console)
        labels = re.findall(r"\b(Open|Pending|Acknowledged)\s*</span>", panel(page, "alerts"))
        assert sorted(labels) == ["Acknowledged", "Open", "Pending"]
        assert "not acknowledged: 2" in page
        assert "under 1 h: 3" in page

    def test_rows_that_are_not_shown_are_counted(self, project: Project, console: Client) -> None:
        for number in range(12):
            make_host(project, f"host{number:02}", down=True)
        page = start_page(console)
        assert numbers(page)["hosts down"] == "12"
        assert "… and 2 more: " in panel(page, "hosts")
        assert "host09" in panel(page, "hosts")
        assert "host10" not in panel(page, "hosts")

    def test_an_incomplete_count_is_marked(
        self, project: Project, console: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("alerting.overview.store.MOST_COUNTED", 2)
        monkeypatch.setattr("opsapi.console.widgets.MOST_COUNTED", 2)
        for _ in range(4):
            make_alert(project)
        assert numbers(start_page(console))["alerts open or pending"] == "2+"
        assert MOST_COUNTED == 1000

    def test_the_chart_has_its_numbers_as_a_table(self, project: Project, console: Client) -> None:
        record_event(project)
        chart = panel(start_page(console), "events")
        headers = re.findall(r'<th scope="col">(.*?)</th>', chart)
        assert headers == ["Hour (UTC)", "Fleet", "Agents and automation", "Backup", "Alerting", "Access"]
        rows = re.findall(
            r'<th scope="row"><time .*?><a href=".*?">(.*?)</a></time></th>((?:<td>\d+</td>)+)', chart
        )
        assert len(rows) == 24
        # An hour can begin between the event and the page.
        newest = (re.findall(r"\d+", counts) for _, counts in rows[-2:])
        assert sorted(newest) == [["0"] * 5, ["1", "0", "0", "0", "0"]]

    def test_the_hours_of_the_chart_are_in_the_zone_of_the_operator(
        self, project: Project, console: Client
    ) -> None:
        record_event(project)
        User.objects.update(time_zone="Asia/Kolkata")
        chart = panel(start_page(console), "events")
        assert "Hour (Asia/Kolkata)" in chart
        hour = re.search(r'title="(\S+) (\d\d:00) UTC"><a href="(.*?)">(\d\d:\d\d)</a>', chart)
        assert hour
        start = f"{hour[1]}T{hour[2]}:00Z"
        assert f"start={start}&" in unescape(unquote(hour[3]))
        assert hour[4] == f"{parse_time(start) + timedelta(hours=5.5):%H:%M}"


class TestRefreshing:
    """The page's script asks for the parts alone."""

    def test_the_widgets_alone_equal_the_page(self, project: Project, console: Client) -> None:
        fill(project)
        page, parts = start_page(console), start_page(console, "overview")
        assert "<html" not in parts
        names = re.findall(r'data-part="(\w+)"', parts)
        assert names == re.findall(r'data-part="(\w+)"', page)
        assert {*PANELS, *OF_THE_INSTALLATION, *OTHERS, "growth", "map"} == set(names)
        assert 'data-read="' in parts
        assert "hosts down: 1" in parts

    def test_the_widgets_are_not_cached(self, console: Client) -> None:
        answer = console.get(reverse("admin:overview"), headers={"X-Console-Refresh": "1"})
        assert "no-store" in answer["Cache-Control"]

    def test_widgets_that_did_not_change_are_not_sent_again(
        self, noon: time_machine.Traveller, project: Project, console: Client
    ) -> None:
        url = reverse("admin:overview")
        tag = console.get(url)["ETag"]
        noon.shift(timedelta(seconds=10))
        same = console.get(url, headers={"If-None-Match": tag})
        assert (same.status_code, same.content, same["ETag"]) == (304, b"", tag)
        assert "no-store" in same["Cache-Control"]
        make_alert(project)
        changed = console.get(url, headers={"If-None-Match": tag})
        assert changed.status_code == 200
        assert changed["ETag"] != tag

    def test_the_widgets_accept_reading_methods_only(self, console: Client) -> None:
        assert console.post(reverse("admin:overview")).status_code == 405

    def test_the_number_of_statements_does_not_depend_on_the_number_of_rows(
        self, project: Project, console: Client
    ) -> None:
        def statements() -> int:
            cache.clear()
            with CaptureQueriesContext(connection) as queries:
                console.get(reverse("admin:overview"), headers={"X-Console-Refresh": "1"})
            return len(queries)

        fill(project)
        fill_installation()
        few = statements()
        for number in range(4):
            fill(ProjectFactory.create(), f"db{number}")
        assert statements() == few
        assert few < 29

    def test_a_user_without_roles_is_redirected_to_the_log_in(self, operator: User, console: Client) -> None:
        operator.grants.all().delete()
        assert console.get(reverse("admin:overview")).status_code == 302


def test_an_outgoing_proxy_that_fails_is_named_to_global_readers(
    project: Project, console: Client, settings: Settings
) -> None:
    settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("http", "proxy.example", 3128, "Basic c2VjcmV0")
    now = clock.now()
    error = "the outgoing proxy could not be reached"
    make_destination(project, last_error=error, failing_since=now - HOUR, tried=now)
    page = start_page(console)
    notices = re.findall(r'<p class="console-notice.*?</p>', page, re.DOTALL)
    assert [error in notice for notice in notices if "http://proxy.example:3128" in notice] == [True]
    assert "c2VjcmV0" not in page
    reader = start_page(browser_with(Role.GROUP_READ_ONLY, project=project))
    assert error in panel(reader, "destinations")
    assert "proxy.example" not in reader


def test_it_leads_to_the_report_of_the_shift(project: Project) -> None:
    page = start_page(browser_with(Role.GROUP_READ_ONLY, project=project))
    assert f'href="{reverse("shift_report")}">Shift report' in page
