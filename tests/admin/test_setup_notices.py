"""The notice about projects that nobody watches, the checklist, and what an empty installation says."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project, User
from alerting.configs.setup import MOST_NAMED
from alerting.models import AlertConfig, SetupMark
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.roles import Role
from tests.admin.configs import CONFIGS
from tests.admin.operators import browser_with, operator_with, page_of
from tests.admin.reading import shown, text_of
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_config, make_destination, make_global_config
from tests.factories.automation import make_agent, make_host
from tests.factories.second_factors import make_second_factor

OVERVIEW, HOSTS, ADD_AGENT = "/admin/", "/admin/automation/host/", "/admin/automation/agent/add/"
EVENTS, INVITE = "/admin/events/event/", "/admin/accesslist/invitation/invite/"
DISMISS = f"{CONFIGS}do/dismiss-host-down/"
DISMISS_CHECKLIST = f"{CONFIGS}do/dismiss-checklist/"
pytestmark = pytest.mark.django_db


def notices(browser: Client, url: str = OVERVIEW) -> str:
    """The notices of a page about hosts."""
    found = re.findall(r'<p class="console-notice.*?</p>', shown(browser, url), re.DOTALL)
    return unescape("".join(notice for notice in found if "host is down" in notice))


def checklist(browser: Client) -> dict[str, bool]:
    """The steps of the checklist, and whether each is done; empty without a checklist."""
    page = shown(browser, OVERVIEW)
    found = re.findall(r'<span class="sr-only">: (done|open)</span>', page)
    words = re.findall(r'<span>([^<>]+)<span class="sr-only">: ', page)
    return {step: state == "done" for step, state in zip(words, found, strict=True)}


class TestTheNotice:
    """Hosts, and no configuration for HOST_DOWN."""

    @each(
        "covers",
        ["nothing", "no hosts", "own", "disabled", "deleted", "other type", "global", "listed", "tagged"],
    )
    def test_it_is_shown_where_no_enabled_configuration_covers_the_project(
        self, console: Client, project: Project, covers: str
    ) -> None:
        if covers != "no hosts":
            make_host(project)
        if covers in {"own", "disabled", "deleted"}:
            make_config(project)
        if covers == "disabled":
            AlertConfig.objects.update(enabled=False)
        if covers == "deleted":
            AlertConfig.objects.update(enabled=False, deleted=clock.now())
        if covers == "other type":
            make_config(project, eventTypeName="HOST_RESTARTED")
        if covers == "global":
            make_global_config()
        if covers == "listed":
            make_global_config(forAllGroups=False, groupIds=[project.id])
        if covers == "tagged":
            Project.objects.update(tags=["prod"])
            make_global_config(tags=["prod"])
        expected = covers in {"nothing", "disabled", "deleted", "other type"}
        assert (project.name in notices(console)) is expected

    def test_every_page_of_the_project_shows_it(self, console: Client, project: Project) -> None:
        host = make_host(project)
        alert = make_alert(project)
        listed = f"{HOSTS}?group__id__exact={project.id}"
        event = Event.objects.filter(group_id=project.id).latest("id")
        rows = [page_of(row) for row in (host, project, alert, event)]
        for url in (OVERVIEW, HOSTS, listed, f"{EVENTS}?project={project.id}", *rows):
            found = notices(console, url)
            assert f"{project.name} has 1 host" in found, url
            assert f"{CONFIGS}do/presets/?group={project.id}" in found

    def test_pages_of_another_project_do_not_show_it(self, console: Client, project: Project) -> None:
        other: Project = ProjectFactory.create(name="theirs")
        make_host(other)
        make_config(project)
        mine = make_host(project, "mine")
        assert "theirs" in notices(console)
        for url in (page_of(mine), page_of(project), f"{HOSTS}?group__id__exact={project.id}"):
            assert not notices(console, url)

    def test_nobody_learns_of_a_project_that_they_cannot_read(self, project: Project) -> None:
        other: Project = ProjectFactory.create(name="theirs")
        make_host(other)
        reader = browser_with(Role.GROUP_READ_ONLY, project=project)
        for url in (OVERVIEW, HOSTS, f"{HOSTS}?group__id__exact={other.id}"):
            assert not notices(reader, url)

    def test_readers_see_it_without_links(self, project: Project) -> None:
        make_host(project)
        found = notices(browser_with(Role.GROUP_READ_ONLY, project=project))
        assert project.name in found
        assert "<a" not in found

    def test_several_projects_are_one_notice(self, console: Client) -> None:
        for number in range(MOST_NAMED + 1):
            make_host(ProjectFactory.create(name=f"unwatched {number:02}"))
        found = notices(console)
        assert found.count("<p ") == 1
        assert found.count("unwatched") == MOST_NAMED
        assert "These are the first by name:" in found

    @each("url", [OVERVIEW, HOSTS])
    def test_more_projects_take_no_more_statements(self, console: Client, project: Project, url: str) -> None:
        def statements() -> int:
            cache.clear()
            with CaptureQueriesContext(connection) as queries:
                console.get(url)
            return sum("accesslist_project AS project" in query["sql"] for query in queries)

        make_host(project)
        few = statements()
        assert 1 <= few <= 2
        for _ in range(5):
            make_host(ProjectFactory.create())
        assert statements() == few


class TestDismissing:
    """It is hidden for everybody, and recorded."""

    def test_a_dismissed_notice_stays_away_and_leaves_one_event(
        self, console: Client, operator: User, project: Project
    ) -> None:
        host = make_host(project)
        with leaves_events(operator, EventType.HOST_DOWN_NOTICE_DISMISSED_AUDIT) as events:
            for _ in range(2):
                confirm(console, DISMISS, group=project.id)
        assert events[0].group_id == project.id
        reader = browser_with(Role.GROUP_READ_ONLY, project=project)
        assert not any(notices(browser, page_of(host)) for browser in (console, reader))
        other: Project = ProjectFactory.create(name="theirs")
        make_host(other)
        assert "theirs" in notices(console)

    @each(
        ("role", "may"),
        [
            (Role.GROUP_MONITORING_ADMIN, True),
            (Role.GROUP_READ_ONLY, False),
            (Role.GROUP_AUTOMATION_ADMIN, False),
        ],
    )
    def test_who_may(self, role: Role, may: bool, project: Project) -> None:
        make_host(project)
        confirm(browser_with(role, project=project), DISMISS, group=project.id)
        assert SetupMark.objects.filter(name="HOST_DOWN_NOTICE_DISMISSED").exists() is may

    def test_nobody_dismisses_it_in_another_project(self, project: Project) -> None:
        other: Project = ProjectFactory.create()
        user, browser = operator_with(Role.GROUP_OWNER, project=project)
        user.grants.create(role=Role.GROUP_READ_ONLY.value, project=other)
        confirm(browser, DISMISS, group=other.id)
        assert not SetupMark.objects.exists()

    def test_lists_offer_it_only_in_the_notice(self, console: Client) -> None:
        page = shown(console, CONFIGS)
        assert DISMISS not in page
        assert DISMISS_CHECKLIST not in page


class TestTheChecklist:
    """What is left to do in the installation."""

    def test_steps_are_ticked_by_what_happened(self, console: Client, project: Project) -> None:
        assert list(checklist(console).values()) == [False] * 5
        now = clock.now()
        make_agent(project, "agent0", demonstration=True)
        assert list(checklist(console).values()) == [False] * 5
        make_agent(project)
        assert list(checklist(console).values()) == [True, False, False, False, False]
        make_config(project)
        assert list(checklist(console).values()) == [True, True, False, False, False]
        make_destination(project, answered=None)
        assert list(checklist(console).values()) == [True, True, False, False, False]
        make_destination(project, answered=now)
        assert list(checklist(console).values()) == [True, True, True, False, False]
        user, other = operator_with(Role.GLOBAL_OWNER)
        make_second_factor(user, now - timedelta(hours=1))
        other.force_login(User.objects.get(id=user.id))  # the session depends on the second factor
        assert list(checklist(console).values()) == [True, True, True, True, False]
        assert checklist(other) == {}

    def test_the_demonstration_ticks_no_step(self, console: Client, project: Project) -> None:
        now = clock.now()
        make_agent(project, demonstration=True)
        make_config(project)
        make_destination(project, answered=now)
        SetupMark.objects.create(group=project, name="CHANNEL_TESTED", created=now)
        operator_with(Role.GROUP_OWNER, project=project)
        operator_with(Role.ORG_OWNER, org=project.org)
        assert list(checklist(console).values()) == [False] * 5
        ProjectFactory.create(org=project.org)  # The organization is no longer of the demonstration only.
        assert list(checklist(console).values()) == [False, False, False, True, False]

    def test_a_project_that_nobody_watches_keeps_its_step_open(
        self, console: Client, project: Project
    ) -> None:
        make_config(project)
        make_host(ProjectFactory.create())
        assert list(checklist(console).values())[1] is False

    @each(
        ("role", "dismisses", "sees"),
        [
            (Role.GLOBAL_OWNER, True, True),
            (Role.GLOBAL_MONITORING_ADMIN, False, True),
            (Role.GLOBAL_READ_ONLY, False, False),
        ],
    )
    def test_who_sees_and_dismisses_it(
        self, role: Role, dismisses: bool, sees: bool, project: Project
    ) -> None:
        browser = browser_with(role)
        assert bool(checklist(browser)) is sees
        assert (DISMISS_CHECKLIST in shown(browser, OVERVIEW)) is dismisses
        confirm(browser, DISMISS_CHECKLIST)
        assert SetupMark.objects.filter(name="CHECKLIST_DISMISSED").exists() is dismisses

    def test_owners_of_projects_do_not_see_it(self, project: Project) -> None:
        assert not checklist(browser_with(Role.GROUP_OWNER, project=project))

    def test_steps_beyond_the_roles_of_a_user_have_no_link(self, project: Project) -> None:
        page = shown(browser_with(Role.GLOBAL_MONITORING_ADMIN), OVERVIEW)
        (found,) = re.findall(r'<ol class="checklist">.*?</ol>', page, re.DOTALL)
        assert ADD_AGENT not in found
        assert INVITE not in found
        assert found.count("This needs the role Global owner or Global user administrator.") == 2
        assert f"{CONFIGS}do/presets/" in found

    def test_administrators_of_users_get_the_page_that_invites(self, project: Project) -> None:
        page = shown(browser_with(Role.GLOBAL_USER_ADMIN), OVERVIEW)
        (found,) = re.findall(r'<ol class="checklist">.*?</ol>', page, re.DOTALL)
        assert INVITE in found
        assert f"{CONFIGS}do/presets/" not in found
        assert found.count("This needs the role Global owner or Global operator.") == 2

    def test_it_is_dismissed_for_everybody_with_one_event(self, console: Client, operator: User) -> None:
        with leaves_events(operator, EventType.CHECKLIST_DISMISSED_AUDIT):
            for _ in range(2):
                confirm(console, DISMISS_CHECKLIST)
        assert not checklist(console)
        assert not checklist(browser_with(Role.GLOBAL_OWNER))


class TestNothingYet:
    """An empty installation claims nothing."""

    def test_no_panel_speaks_of_all_where_there_is_none(self, console: Client) -> None:
        page = shown(console, OVERVIEW)
        assert not re.search(r"\b(All|Every) (hosts?|agents?|destinations?) (are|report|that|accept)", page)
        assert page.count("No hosts yet.") == 2
        assert ADD_AGENT in page

    def test_panels_speak_of_all_once_there_are_some(self, console: Client, project: Project) -> None:
        now = clock.now()
        make_host(project, last_report=now)
        make_agent(project)
        make_destination(project, answered=now, failing_since=None, failures=0)
        page = shown(console, OVERVIEW)
        for sentence in ("All hosts are up.", "All hosts report.", "All agents report.", "Every destination"):
            assert sentence in page, sentence

    def test_hosts_and_agents_of_the_demonstration_are_not_called_reporting(
        self, console: Client, project: Project
    ) -> None:
        long_ago = clock.now() - timedelta(hours=1)
        agent = make_agent(project, demonstration=True, last_report=long_ago)
        make_host(project, reported_by=agent, last_report=long_ago)
        page = shown(console, OVERVIEW)
        for word in ("hosts are up", "hosts report", "agents report"):
            assert f"All {word}" not in page
        assert "1 host belongs to the demonstration" in page
        assert "1 agent belongs to the demonstration" in page

    def test_a_host_without_data_is_not_called_up(self, console: Client, project: Project) -> None:
        make_host(project)
        page = shown(console, OVERVIEW)
        assert "All hosts are up." not in page
        assert "The state of 1 host is unknown." in page

    @each("name", ["host", "agent", "replicaset", "cluster", "database"])
    def test_the_first_button_of_an_empty_list_of_the_fleet_adds_an_agent(
        self, console: Client, name: str
    ) -> None:
        page = shown(console, f"/admin/automation/{name}/")
        (empty,) = re.findall(r'<div class="console-empty">.*?</div>', page, re.DOTALL)
        buttons = re.findall(r'class="console-button console-button-primary" href="(.*?)"', empty)
        assert buttons == [ADD_AGENT]

    def test_readers_get_no_button(self, project: Project) -> None:
        page = shown(browser_with(Role.GROUP_READ_ONLY, project=project), HOSTS)
        (empty,) = re.findall(r'<div class="console-empty">.*?</div>', page, re.DOTALL)
        assert "<a" not in empty


class TestASingleProject:
    """Forms preselect it, whatever kind of field asks for it."""

    @each(
        "url",
        [
            ADD_AGENT,
            f"{HOSTS}add/",
            f"{CONFIGS}add/",
            f"{CONFIGS}do/presets/",
            "/admin/alerting/maintenancewindow/add/",
            "/admin/integrations/integration/add/",
        ],
    )
    def test_it_is_preselected(self, console: Client, project: Project, url: str) -> None:
        form = console.get(url).context["form"]
        assert str(form["group"].value()) == project.id
        ProjectFactory.create()
        form = console.get(url).context["form"]
        assert not form["group"].value()

    def test_the_only_project_that_somebody_can_read_is_preselected(self, project: Project) -> None:
        ProjectFactory.create()
        answer = browser_with(Role.GROUP_OWNER, project=project).get(ADD_AGENT)
        assert str(answer.context["form"]["group"].value()) == project.id
        assert project.name in text_of(answer)
