"""The page of the plan of a project, and what operators do there."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project, User
from automation.desired_state.editor import LONGEST_EDITED, NOT_SEEN
from automation.desired_state.store import revision_text
from automation.models import AutomationRevision, PausedPlan
from automation.turns.changes import plan_pause, turn_report
from automation.turns.rules import TurnOutcome, TurnReport
from events.types import EventType
from opsapi.api.principal import SYSTEM
from opsapi.roles import Role
from tests.admin.operators import action_url, browser_with, operator_with, page_of
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import publish
from tests.factories.documents import process
from tests.factories.lost_keys import lose_key
from tests.integration.automation.test_turn_life import RestartedSet

pytestmark = pytest.mark.django_db

PAUSED, RESUMED, PUBLISHED, CONTINUED = (
    EventType.AUTOMATION_PLAN_PAUSED_AUDIT,
    EventType.AUTOMATION_PLAN_RESUMED_AUDIT,
    EventType.AUTOMATION_CONFIG_PUBLISHED_AUDIT,
    EventType.AUTOMATION_PLAN_CONTINUED,
)
WHY = "p1 did not become a secondary within 600 s"


def plan_of(project: Project) -> str:
    return f"{reverse('automation_plan')}?project={project.pk}"


def words(console: Client, url: str) -> str:
    """The text of a page, without markup."""
    answer = console.get(url)
    assert answer.status_code == 200, url
    main = answer.content.decode().partition('class="console-page')[2]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", main)).split())


def newest(project: Project) -> AutomationRevision:
    revision: AutomationRevision = AutomationRevision.objects.filter(group=project).latest("number")
    return revision


def document_of(revision: AutomationRevision, console: Client) -> str:
    """The text that the editor shows."""
    shown: str = console.get(action_url(revision, "edit")).context["form"]["document"].value()
    return shown


@pytest.fixture
def restarted(project: Project) -> RestartedSet:
    """A replica set in which a restart was published, and the agent of p1 holds the turn."""
    return RestartedSet(project)


def test_it_shows_the_turn_the_running_move_and_the_next_moves(
    console: Client, project: Project, restarted: RestartedSet
) -> None:
    restarted.ask(1)
    page = words(console, plan_of(project))
    assert "p1 restarts" in page
    assert "The agent on db1.example.com holds the turn of rs" in page
    assert "in progress" in page
    assert "0 of 3 processes have reached version 1" in page
    assert "Waits:" not in page.partition("p1")[0]


def test_a_stop_has_its_step_its_reason_and_what_to_do(
    console: Client, project: Project, restarted: RestartedSet
) -> None:
    assert 'aria-labelledby="plan-stops" data-part="stops" hidden' in console.get(plan_of(project)).text
    turn = restarted.ask(1)
    sent = TurnReport(fence=turn.fence, outcome=TurnOutcome.FAILED, reason=WHY, step="start")
    turn_report(group_id=project.id, turn_id=turn.id, report=sent, actor=SYSTEM, now=restarted.now)
    page = words(console, plan_of(project))
    assert "p1 of the replica set rs restarts: this failed" in page
    assert f"in the step “start”. {WHY}" in page
    assert "Remove the cause and resume the plan" in page
    assert action_url(newest(project), "resume") in console.get(plan_of(project)).text


def test_it_says_that_the_plan_is_paused_and_since_when(
    console: Client, project: Project, restarted: RestartedSet
) -> None:
    plan_pause(group_id=project.id, actor=SYSTEM, now=restarted.now)
    page = words(console, plan_of(project))
    assert "The plan is paused since 2099-03-01 12:00:00Z" in page
    assert "agents get no new turns" in page


def test_nothing_is_done_that_no_agent_reports(console: Client, project: Project) -> None:
    publish(project, 0)
    page = words(console, plan_of(project))
    assert "0 of 1 processes have reached version 1" in page
    assert re.search(r"\b0 of [1-9]\d* moves are done\.", page)
    assert "no version reached yet" in page
    assert " done " not in page


def test_the_page_refreshes_itself_and_has_the_same_parts_each_time(
    console: Client, project: Project, restarted: RestartedSet
) -> None:
    before = console.get(plan_of(project)).text
    restarted.ask(1)
    after = console.get(plan_of(project)).text
    assert "data-live" in before
    names = [re.findall(r'data-part="(\w+)"', page) for page in (before, after)]
    assert names[0] == names[1] == ["actions", "state", "stops", "turns", "processes"]


def test_pause_and_resume_are_recorded_and_lead_back_to_the_plan(
    console: Client, operator: User, project: Project
) -> None:
    revision = publish(project, 0)
    assert action_url(revision, "resume") not in console.get(plan_of(project)).text
    with leaves_events(operator, PAUSED):
        answer = confirm(console, action_url(revision, "pause"))
    assert answer["Location"] == plan_of(project)
    assert PausedPlan.objects.get().actor_name == operator.username
    page = console.get(plan_of(project)).text
    assert action_url(revision, "pause") not in page
    with leaves_events(operator, RESUMED):
        confirm(console, action_url(revision, "resume"))
    assert not PausedPlan.objects.exists()


@each(("role", "may"), [(Role.GROUP_AUTOMATION_ADMIN, True), (Role.GROUP_READ_ONLY, False)])
def test_everybody_who_reads_the_project_sees_the_plan_and_publishers_change_it(
    role: Role, may: bool, project: Project
) -> None:
    first, revision = publish(project, 0), publish(project, 1, processes=[])
    user, browser = operator_with(role, project=project)
    page = browser.get(plan_of(project)).text
    for url in (action_url(revision, name) for name in ("pause", "edit")):
        assert (url in page) is may
        assert browser.get(url).status_code == (200 if may else 403)
    assert (action_url(first, "restore") in page) is may
    with leaves_events(user, *([PAUSED] if may else []), as_owner=False):
        confirm(browser, action_url(revision, "pause"))


def test_a_project_that_the_operator_cannot_read_is_not_shown(project: Project) -> None:
    publish(project, 0)
    other: Project = ProjectFactory.create()
    publish(other, 0)
    browser = browser_with(Role.GROUP_READ_ONLY, project=other)
    for url in (plan_of(project), reverse("automation_plan")):
        page = browser.get(url)
        assert (page.status_code, project.name in page.text) == (200, False)
    assert f"?project={other.pk}" in browser.get(reverse("automation_plan")).text


def test_the_page_of_the_current_revision_leads_to_the_plan(console: Client, project: Project) -> None:
    first, second = publish(project, 0), publish(project, 1, processes=[])
    assert plan_of(project) in console.get(page_of(second)).text
    assert plan_of(project) not in console.get(page_of(first)).text
    assert action_url(first, "restore") in console.get(plan_of(project)).text


def test_a_project_without_a_configuration_has_no_plan(console: Client, project: Project) -> None:
    assert "has no automation configuration" in console.get(plan_of(project)).text


def edit(console: Client, revision: AutomationRevision, text: str, **more: str) -> Any:
    return confirm(console, action_url(revision, "edit"), document=text, **more)


def test_a_draft_is_published_only_after_its_plan_was_shown(
    console: Client, operator: User, project: Project
) -> None:
    revision = publish(project, 0, auth={"key": "a secret"})
    shown = document_of(revision, console)
    assert "a secret" not in shown
    changed = shown.replace("/var/lib/", "/srv/").replace('"db_1"', '"db_9"')
    with leaves_events(operator):
        answer = edit(console, revision, changed)
    page = answer.text
    assert NOT_SEEN in page
    assert "<strong>db_1</strong> is no longer managed" in page
    assert "If you publish this version, the agents change nothing." in page  # The key is no key.
    assert newest(project) == revision
    seen = answer.context["form"].shown_digest
    assert f'name="seen" value="{seen}"' in page
    with leaves_events(operator, PUBLISHED):
        answer = edit(console, revision, changed, seen=seen)
    assert answer["Location"] == plan_of(project)
    assert newest(project).number == 2
    assert '"key":"a secret"' in revision_text(newest(project))


def test_a_draft_that_was_edited_after_its_plan_was_shown_is_not_published(
    console: Client, operator: User, project: Project
) -> None:
    revision = publish(project, 0)
    text = document_of(revision, console)
    seen = edit(console, revision, text.replace('"db_1"', '"db_9"')).context["form"].shown_digest
    with leaves_events(operator):
        edit(console, revision, text.replace('"db_1"', '"db_8"'), seen=seen)
    assert newest(project) == revision


def test_a_preview_publishes_nothing_even_if_its_plan_was_shown(
    console: Client, operator: User, project: Project
) -> None:
    revision = publish(project, 0)
    text = document_of(revision, console).replace('"db_1"', '"db_9"')
    seen = edit(console, revision, text, preview="yes").context["form"].shown_digest
    assert seen
    with leaves_events(operator):
        edit(console, revision, text, preview="yes", seen=seen)
    assert newest(project) == revision


@each(
    ("text", "fault"),
    [
        ("{", "Invalid JSON at line 1, column 2: {"),
        ('\r\n{"a": 1,\r\n "b": 2,,\r\n}', 'Invalid JSON at line 3, column 9: "b": 2,,'),
        ("[]", "It must be a JSON object."),
        ('{"a": 1, "a": 2}', "The key 'a' is given twice."),
    ],
)
def test_a_draft_that_is_no_json_is_refused_next_to_its_field(
    console: Client, project: Project, text: str, fault: str
) -> None:
    answer = edit(console, publish(project, 0), text)
    form = answer.context["form"]
    assert (form.errors["document"], form.plan) == ([fault], None)
    assert "errorlist" in answer.text or "text-red" in answer.text


def test_a_wrong_draft_is_refused_in_words(console: Client, operator: User, project: Project) -> None:
    revision = publish(project, 0)
    with leaves_events(operator):
        answer = edit(console, revision, '{"version": 7}')
    assert (answer.status_code, "This version cannot be published" in answer.text) == (200, True)
    assert answer.context["form"].shown_digest == ""


def test_a_draft_of_an_older_version_is_not_published(
    console: Client, operator: User, project: Project
) -> None:
    revision = publish(project, 0)
    text = document_of(revision, console).replace('"db_1"', '"db_9"')
    seen = edit(console, revision, text).context["form"].shown_digest
    publish(project, 1, processes=[process(name="db_2")])
    with leaves_events(operator):
        answer = edit(console, revision, text, seen=seen)
    assert "is at version 2, not 1" in answer.text
    assert newest(project).number == 2


def test_without_the_key_of_the_document_the_page_says_that_the_plan_is_not_known(
    console: Client, project: Project
) -> None:
    revision = publish(project, 0)
    lose_key(AutomationRevision)
    page = words(console, plan_of(project))
    assert "not known" in page
    assert " done " not in page
    assert "cannot be read without its encryption key" in document_of(revision, console)


def test_a_document_that_is_too_long_to_edit_is_not_cut(console: Client, project: Project) -> None:
    revision = publish(project, 0, notes="n" * LONGEST_EDITED)
    assert document_of(revision, console).startswith("This configuration is too long")
