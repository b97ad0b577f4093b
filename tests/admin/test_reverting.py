"""Changes are reverted: the page of an event leads to a form with the values before its change."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accesslist.keys.changes import api_key_update
from accesslist.models import ApiKey, Organization, Project, RoleGrant, Team, User
from accesslist.projects.changes import project_delete
from accesslist.roles.rules import AskedRole
from accesslist.teams.changes import group_team_update, group_teams_add
from accesslist.teams.resource import AskedTeam
from alerting.models import AlertConfig
from alerting.windows.resource import WindowDocument
from automation.models import Host
from events.models import Event
from events.types import EventType
from integrations.credentials.store import integration_values
from opsapi import clock
from opsapi.api.principal import SYSTEM, Group
from opsapi.roles import Grant, Role, Scope
from tests.admin.configs import do, facts, send
from tests.admin.operators import action_url, browser_with, no_ticks, ticks
from tests.admin.reading import shown, text_of
from tests.admin.test_windows import make_window, matcher_rows
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events
from tests.each import each
from tests.factories.accesslist import PASSWORD, ProjectFactory, UserFactory, make_key, make_team
from tests.factories.alerting import CONNECTIONS_ABOVE_100, make_config
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration

pytestmark = pytest.mark.django_db
REVERT = "Revert this change"
CHANGED_SINCE = "Changed again since:"
MAIL = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 0}
# As the form sends it.
_CONDITION = {
    **CONNECTIONS_ABOVE_100,
    "metricThreshold": {**CONNECTIONS_ABOVE_100["metricThreshold"], "mode": "AVERAGE"},
}
ALERT_CONFIG_CHANGED = EventType.ALERT_CONFIG_CHANGED_AUDIT


def change(console: Client, url: str, **typed: Any) -> Event:
    """The event of a change that an operator makes in the form at the URL."""
    before = set(Event.objects.values_list("id", flat=True))
    send(console, url, {**typed_in(shown(console, url)), **typed})
    return Event.objects.exclude(id__in=before).get()


def page_of(event: Event) -> str:
    return f"/admin/events/event/{event.id}/change/"


def reverting(event: Event, url: str) -> str:
    return f"{url}?event={event.id}"


@pytest.fixture
def config(project: Project) -> AlertConfig:
    return make_config(project, **_CONDITION, name="Too busy", notifications=[MAIL])


def test_a_change_of_a_rule_is_reverted(console: Client, operator: User, config: AlertConfig) -> None:
    before = facts(config)
    typed = {"metricThreshold.threshold": "200", "name": "Busy", "notifications[0].delayMin": "5"}
    event = change(console, do(config, "change"), **typed)
    url = reverting(event, do(config, "change"))
    assert f'href="{url}"' in shown(console, page_of(event))
    form = shown(console, url)
    assert "Earlier values: Metric threshold, Notifications, Name." in form
    assert CHANGED_SINCE not in form
    with leaves_events(operator, ALERT_CONFIG_CHANGED):
        send(console, do(config, "change"), typed_in(form))
    config.refresh_from_db()
    assert {**facts(config), "updated": before["updated"]} == before


def test_the_difference_is_shown_by_leaf(console: Client, config: AlertConfig) -> None:
    event = change(console, do(config, "change"), **{"metricThreshold.threshold": "200"})
    page = " ".join(shown(console, page_of(event)).split())
    assert '<th scope="row" data-label="Field">Metric threshold</th>' in page
    assert "<del> 100 </del>" in page
    assert "<ins> 200 </ins>" in page
    assert "OUTSIDE_METRIC_THRESHOLD" not in page.partition("console-changes")[2].partition("</table>")[0]


def test_fields_that_were_changed_again_are_named(console: Client, config: AlertConfig) -> None:
    event = change(console, do(config, "change"), **{"metricThreshold.threshold": "200", "name": "Busy"})
    change(console, do(config, "change"), **{"metricThreshold.threshold": "300"})
    form = shown(console, reverting(event, do(config, "change")))
    assert f"{CHANGED_SINCE}</strong> Metric threshold." in form


def test_a_revert_keeps_what_the_change_did_not_touch(console: Client, config: AlertConfig) -> None:
    event = change(console, do(config, "change"), **{"metricThreshold.threshold": "200"})
    change(console, do(config, "change"), name="Later")
    send(console, do(config, "change"), typed_in(shown(console, reverting(event, do(config, "change")))))
    config.refresh_from_db()
    assert config.metric_threshold is not None
    assert (config.name, config.metric_threshold["threshold"]) == ("Later", 100)


def test_a_revert_is_refused_if_somebody_changed_the_rule_meanwhile(
    console: Client, operator: User, config: AlertConfig
) -> None:
    event = change(console, do(config, "change"), name="Busy")
    AlertConfig.objects.filter(id=config.id).update(updated=clock.now() - timedelta(minutes=1))
    typed = typed_in(shown(console, reverting(event, do(config, "change"))))
    change(console, do(config, "change"), name="Later")
    with leaves_events(operator):
        answer = send(console, do(config, "change"), typed)
    assert "Somebody else has changed this configuration." in answer.content.decode()


def test_a_removed_notification_comes_back_as_a_new_one(console: Client, config: AlertConfig) -> None:
    [removed] = config.settings.all()
    typed = {
        "notifications[0].id": "",
        "notifications[0].typeName": "SMS",
        "notifications[0].emailAddress": "",
        "notifications[0].mobileNumber": "+12025550100",
    }
    event = change(console, do(config, "change"), **typed)
    form = typed_in(shown(console, reverting(event, do(config, "change"))))
    assert form["notifications[0].emailAddress"] == ["oncall@example.com"]
    assert send(console, do(config, "change"), form).status_code == 302
    [setting] = config.settings.all()
    assert setting.type_name == "EMAIL"
    assert setting.id != removed.id


def test_who_may_not_change_the_rule_is_not_offered_a_revert(
    console: Client, project: Project, config: AlertConfig
) -> None:
    event = change(console, do(config, "change"), name="Busy")
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert REVERT not in shown(reader, page_of(event))
    assert reader.get(reverting(event, do(config, "change"))).status_code == 403


def test_a_rule_without_the_event_says_so_and_shows_itself(
    console: Client, config: AlertConfig, project: Project
) -> None:
    other = make_config(project)
    event = change(console, do(other, "change"), name="Other")
    form = shown(console, reverting(event, do(config, "change")))
    assert "The change cannot be found." in form
    assert 'value="Too busy"' in form


def test_an_added_or_deleted_rule_is_not_reverted(console: Client, config: AlertConfig) -> None:
    added = Event.objects.get(event_type="ALERT_CONFIG_ADDED_AUDIT")
    assert REVERT not in shown(console, page_of(added))


def test_changes_of_a_host_a_project_and_an_organization_are_reverted(
    console: Client, project: Project
) -> None:
    ingest(project, host_report("db1"))
    host, org = Host.objects.get(), Organization.objects.get(id=project.org_id)
    for url, typed, read in (
        (
            f"/admin/automation/host/{host.id}/do/change/",
            {"hostname": "db2"},
            lambda: Host.objects.get().hostname,
        ),
        (
            f"/admin/accesslist/project/{project.id}/do/change/",
            {"tags": "prod, core", "name": "other"},
            lambda: (Project.objects.get(id=project.id).name, Project.objects.get(id=project.id).tags),
        ),
        (
            f"/admin/accesslist/organization/{org.id}/do/rename/",
            {"name": "Others"},
            lambda: Organization.objects.get(id=org.id).name,
        ),
    ):
        before = read()
        event = change(console, url, **typed)
        assert read() != before
        assert f'href="{reverting(event, url)}"' in shown(console, page_of(event))
        assert send(console, url, typed_in(shown(console, reverting(event, url)))).status_code == 302
        assert read() == before


def test_a_change_of_an_integration_is_reverted_without_its_secrets(
    console: Client, project: Project
) -> None:
    integration = make_integration(project, "CHAT_SERVICE", channelName="one")
    url = f"/admin/integrations/integration/{integration.id}/do/change/"
    event = change(console, url, channelName="two")
    form = shown(console, reverting(event, url))
    assert "Secrets are not stored in events" in form
    send(console, url, typed_in(form))
    integration.refresh_from_db()
    assert integration.fields["channelName"] == "one"


def offered(event: Event, url: str, console: Client) -> dict[str, list[str]]:
    """The form that the page of the event leads to, as the browser would send it."""
    link = reverting(event, url)
    assert f'href="{link}"' in shown(console, page_of(event))
    return typed_in(shown(console, link))


def roles_of(holder: Any) -> list[tuple[str, str | None]]:
    return sorted((grant.role, grant.project_id or grant.org_id) for grant in holder.grants.all())


@each(
    "changes",
    [
        {"description": "other"},
        {"startDate": "2099-01-11 03:00", "endDate": "2099-01-11 04:00"},
        {"alertTypeNames": ["HOST", "REPLICA_SET"], "hosts": ""},
        {"repeat": "ONCE"},
        {"repeat": "RULE", "rrule": "FREQ=MONTHLY;BYDAY=1SU", "timeZone": "Europe/Berlin"},
        {"hosts": ""},
        {"hosts": "db2.example.com:27017\ndb3.example.com:27017"},
        matcher_rows("REPLICA_SET_NAME EQUALS rs1"),
    ],
)
def test_a_change_of_a_window_is_reverted(
    changes: dict[str, Any], console: Client, operator: User, project: Project
) -> None:
    window = make_window(
        project,
        startDate="2099-01-04T02:00:00Z",  # a Sunday
        endDate="2099-01-04T04:00:00Z",
        recurrence={"rrule": "FREQ=WEEKLY;BYDAY=SU", "timeZone": "Europe/Berlin"},
        matchers=[
            {"fieldName": "HOSTNAME_AND_PORT", "operator": "EQUALS", "value": "db1.example.com:27017"},
            {"fieldName": "REPLICA_SET_NAME", "operator": "EQUALS", "value": "rs0"},
        ],
    )
    url, before = action_url(window, "change"), WindowDocument.stored(window)
    event = change(console, url, **changes)
    form = offered(event, url, console)
    page = shown(console, reverting(event, url))
    assert CHANGED_SINCE not in page
    assert "cannot change" not in page
    with leaves_events(operator, EventType.MAINTENANCE_WINDOW_CHANGED_AUDIT):
        assert send(console, url, form).status_code == 302
    assert {**WindowDocument.stored(window), "updated": before["updated"]} == before


def test_hosts_of_a_window_that_were_changed_again_are_named(console: Client, project: Project) -> None:
    window = make_window(project)
    url = action_url(window, "change")
    event = change(console, url, hosts="db1.example.com:27017")
    assert CHANGED_SINCE not in shown(console, reverting(event, url))
    change(console, url, hosts="db2.example.com:27017")
    assert f"{CHANGED_SINCE}</strong> Matchers." in shown(console, reverting(event, url))


def test_a_window_of_another_project_is_not_reverted(console: Client, project: Project) -> None:
    window, other = make_window(project), make_window(ProjectFactory.create())
    event = change(console, action_url(other, "change"), description="other")
    form = shown(console, reverting(event, action_url(window, "change")))
    assert "The change cannot be found." in form


def test_a_change_of_a_team_is_reverted(console: Client, project: Project) -> None:
    ada, grace = UserFactory.create(username="ada1"), UserFactory.create(username="grace")
    team = make_team(project, ada)
    url, name = action_url(team, "change"), team.name
    send(console, url, {**typed_in(shown(console, url)), "name": "night shift", "usernames": "grace"})
    event = Event.objects.get(event_type="TEAM_CHANGED_AUDIT")
    form = offered(event, url, console)
    assert "Earlier values: Name, Members." in shown(console, reverting(event, url))
    assert send(console, url, form).status_code == 302
    team.refresh_from_db()
    assert (team.name, list(team.members.all())) == (name, [ada])
    # The members changed again.
    assert f"{CHANGED_SINCE}</strong> Name, Members." in shown(console, reverting(event, url))
    assert grace not in team.members.all()


def test_a_member_who_joined_or_left_is_reverted(console: Client, project: Project) -> None:
    ada, _ = UserFactory.create(username="ada1"), UserFactory.create(username="grace")
    team = make_team(project, ada)
    url = action_url(team, "change")
    send(console, url, {**typed_in(shown(console, url)), "usernames": "grace"})
    for event_type, names in (
        (EventType.USER_REMOVED_FROM_TEAM_AUDIT, ["ada1", "grace"]),
        (EventType.USER_ADDED_TO_TEAM, ["ada1"]),
    ):
        event = Event.objects.filter(event_type=event_type.value).earliest("id")
        assert send(console, url, offered(event, url, console)).status_code == 302
        assert [user.username for user in team.members.order_by("username")] == names


@pytest.mark.parametrize("holder", ["user", "key"])
def test_a_change_of_roles_is_reverted(holder: str, console: Client, project: Project) -> None:
    other = ProjectFactory.create()
    grants = [
        Grant(Role.GROUP_READ_ONLY, group_id=project.id),
        Grant(Role.GROUP_OWNER, group_id=other.id),
    ]
    row: Any = UserFactory.create() if holder == "user" else ApiKey.objects.get(id=make_key(*grants).id)
    if holder == "user":
        for grant in grants:
            RoleGrant.objects.create(user=row, role=grant.role.value, project_id=grant.group_id)
    before, url = roles_of(row), action_url(row, "roles")
    given = {"project": project.id, "project_roles": ["GROUP_USER_ADMIN"]}
    event = change(console, url, **ticks(row, "GROUP_READ_ONLY"), **given)
    assert roles_of(row) != before
    form = offered(event, url, console)
    page = shown(console, reverting(event, url))
    assert "Earlier values: Roles (grants Reader, revokes User administrator)." in page
    assert CHANGED_SINCE not in page
    assert send(console, url, form).status_code == 302
    assert roles_of(row) == before
    assert f"{CHANGED_SINCE}</strong> Roles." in shown(console, reverting(event, url))


def test_all_roles_of_a_user_in_a_project_come_back(console: Client, project: Project) -> None:
    user = UserFactory.create()
    RoleGrant.objects.create(user=user, role=Role.GROUP_OWNER.value, project=project)
    url, before = action_url(user, "roles"), roles_of(user)
    send(console, url, no_ticks(user))
    assert roles_of(user) == []
    event = Event.objects.get(event_type="REMOVED_FROM_GROUP")
    assert send(console, url, offered(event, url, console)).status_code == 302
    assert roles_of(user) == before


def test_a_role_in_a_deleted_project_is_named_and_not_given(console: Client, project: Project) -> None:
    user = UserFactory.create()
    RoleGrant.objects.create(user=user, role=Role.GROUP_OWNER.value, project=project)
    url = action_url(user, "roles")
    event = change_of_roles(console, url, no_ticks(user))
    project_delete(group_id=project.id, actor=SYSTEM, now=clock.now())
    assert "This form cannot change: Project owner." in shown(console, reverting(event, url))


def change_of_roles(console: Client, url: str, typed: dict[str, Any]) -> Event:
    send(console, url, typed)
    return Event.objects.filter(event_type="USER_ROLES_CHANGED_AUDIT").latest("id")


TEAM_ROLES = {
    "addition": ([], ["GROUP_READ_ONLY"], "revokes Reader"),
    "change": (
        ["GROUP_READ_ONLY", "GROUP_USER_ADMIN"],
        ["GROUP_OWNER", "GROUP_USER_ADMIN"],
        "grants Reader, revokes Project owner",
    ),
    "removal": (["GROUP_READ_ONLY", "GROUP_OWNER"], [], "grants Reader, grants Project owner"),
}
"""The roles before and after, and what reverting does."""


@pytest.fixture
def team(project: Project) -> Team:
    """Without a role, but a member of the organization."""
    team = make_team(project, UserFactory.create())
    team.grants.all().delete()
    return team


def set_roles(team: Team, project: Project, names: list[str]) -> Event | None:
    """The event of a change by somebody else, if it changes something."""
    before = set(Event.objects.values_list("id", flat=True))
    group = Group(id=project.id, name=project.name, org_id=project.org_id or "")
    roles = [Role(name) for name in names]
    by = [Grant(Role.GLOBAL_OWNER)]
    if roles:
        asked = [AskedTeam("[0]", team.id, roles)]
        group_teams_add(group=group, asked=asked, by=by, actor=SYSTEM, now=clock.now())
    elif team.grants.filter(project=project).exists():
        group_team_update(group=group, team_id=team.id, roles=(), actor=SYSTEM, now=clock.now())
    return Event.objects.exclude(id__in=before).first()


def team_event(team: Team, project: Project, before: list[str], after: list[str]) -> tuple[Event, str]:
    """The event of a change of the team's roles, and the address of the form that reverts it."""
    set_roles(team, project, before)
    event = set_roles(team, project, after)
    assert event is not None
    return event, f"{action_url(project, 'team-roles')}?event={event.id}&team={team.id}"


def team_roles(team: Team, project: Project) -> set[str]:
    return set(team.grants.filter(project=project).values_list("role", flat=True))


@pytest.mark.parametrize("kind", TEAM_ROLES)
def test_a_change_of_the_roles_of_a_team_is_reverted(
    kind: str, console: Client, project: Project, team: Team
) -> None:
    before, after, words = TEAM_ROLES[kind]
    event, url = team_event(team, project, before, after)
    assert f'href="{url.replace("&", "&amp;")}"' in shown(console, page_of(event))
    page = shown(console, url)
    assert f"Earlier values: Roles ({words})." in page
    assert CHANGED_SINCE not in page
    assert send(console, url, typed_in(page)).status_code == 302
    assert team_roles(team, project) == set(before)
    assert f"{CHANGED_SINCE}</strong> Roles." in shown(console, url)


def test_a_revert_keeps_the_roles_that_a_team_got_since(
    console: Client, project: Project, team: Team
) -> None:
    before, after, _ = TEAM_ROLES["change"]
    _, url = team_event(team, project, before, after)
    set_roles(team, project, [*after, "GROUP_BACKUP_ADMIN"])
    page = shown(console, url)
    assert f"{CHANGED_SINCE}</strong> Roles." in page
    set_roles(team, project, [*after, "GROUP_BACKUP_ADMIN", "GROUP_AUTOMATION_ADMIN"])
    send(console, url, typed_in(page))
    assert team_roles(team, project) == {*before, "GROUP_BACKUP_ADMIN", "GROUP_AUTOMATION_ADMIN"}


def test_an_addition_that_was_reverted_already_is_refused(
    console: Client, project: Project, team: Team
) -> None:
    before, after, _ = TEAM_ROLES["addition"]
    _, url = team_event(team, project, before, after)
    page = shown(console, url)
    set_roles(team, project, [])
    answer = send(console, url, typed_in(page))
    assert f"No team {team.id} exists here." in str(answer.context["form"].errors["roles"])
    assert f"{CHANGED_SINCE}</strong> Roles." in shown(console, url)


def test_the_roles_of_a_deleted_team_say_why_they_are_not_reverted(
    console: Client, project: Project, team: Team
) -> None:
    event, url = team_event(team, project, *TEAM_ROLES["removal"][:2])
    team.delete()
    page = shown(console, page_of(event))
    assert "What was changed is deleted" in page
    assert REVERT not in page
    assert "has no such team" in shown(console, url)


def test_a_change_in_another_project_or_of_another_team_is_not_reverted(
    console: Client, project: Project, team: Team
) -> None:
    event, _ = team_event(team, project, *TEAM_ROLES["change"][:2])
    other = ProjectFactory.create(org=project.org)
    for place, named in ((other, team), (project, make_team(project))):
        form = shown(console, f"{action_url(place, 'team-roles')}?event={event.id}&team={named.id}")
        assert "The change cannot be found." in form


@each(("role", "may"), [(Role.GROUP_USER_ADMIN, True), (Role.GROUP_READ_ONLY, False)])
def test_who_may_change_the_roles_of_teams_reverts_a_removal(
    role: Role, may: bool, project: Project, team: Team
) -> None:
    """Without a role in the project, the team is not in the list of teams of these operators."""
    event, url = team_event(team, project, ["GROUP_READ_ONLY"], [])
    browser = browser_with(role, project=project)
    assert (REVERT in shown(browser, page_of(event))) is may
    answer = browser.get(url)
    assert answer.status_code == (200 if may else 403)
    if may:
        assert send(browser, url, typed_in(text_of(answer))).status_code == 302
    assert team_roles(team, project) == ({"GROUP_READ_ONLY"} if may else set())


def test_a_revert_grants_no_role_that_the_operator_does_not_have(project: Project, team: Team) -> None:
    _, url = team_event(team, project, ["GROUP_OWNER"], [])
    browser = browser_with(Role.GROUP_USER_ADMIN, project=project)
    answer = send(browser, url, typed_in(shown(browser, url)))
    assert "cannot grant the role GROUP_OWNER" in str(answer.context["form"].errors["roles"])
    assert team_roles(team, project) == set()


def test_the_description_of_a_key_is_reverted(console: Client, project: Project) -> None:
    key = ApiKey.objects.get(id=make_key(Grant(Role.GROUP_OWNER, group_id=project.id)).id)
    url = action_url(key, "describe")
    event = change(console, url, desc="other")
    assert send(console, url, offered(event, url, console)).status_code == 302
    key.refresh_from_db()
    assert key.desc == "test key"


def test_the_machine_of_a_key_is_reverted(console: Client, project: Project) -> None:
    key = ApiKey.objects.get(id=make_key(Grant(Role.GROUP_AGENT, group_id=project.id)).id)
    url = action_url(key, "machine")
    change(console, url, hostnames="db1, db2")
    event = change(console, url, hostnames="db3")
    assert send(console, url, offered(event, url, console)).status_code == 302
    key.refresh_from_db()
    assert key.hostnames == ["db1", "db2"]


def test_both_changes_of_a_key_are_offered(console: Client, project: Project) -> None:
    grant = Grant(Role.GROUP_OWNER, group_id=project.id)
    key = ApiKey.objects.get(id=make_key(grant).id)
    api_key_update(
        key_id=key.id,
        here=Scope(group_id=project.id),
        changes={"desc": "other"},
        asked=[AskedRole("roles", Role.GROUP_READ_ONLY, None, project.id)],
        by=[Grant(Role.GLOBAL_OWNER)],
        actor=SYSTEM,
        now=clock.now(),
    )
    event = Event.objects.get(event_type="API_KEY_CHANGED_AUDIT")
    for action in ("describe", "roles"):
        url = action_url(key, action)
        assert send(console, url, offered(event, url, console)).status_code == 302
    key.refresh_from_db()
    assert (key.desc, roles_of(key)) == ("test key", [("GROUP_OWNER", project.id)])


def test_a_deleted_key_is_not_offered_and_the_page_says_why(console: Client, project: Project) -> None:
    key = ApiKey.objects.get(id=make_key(Grant(Role.GROUP_OWNER, group_id=project.id)).id)
    changed = change(console, action_url(key, "describe"), desc="other")
    event = change(console, action_url(key, "delete"))
    page = shown(console, page_of(event))
    assert "its private key is not stored" in page
    assert REVERT not in page
    page = shown(console, page_of(changed))
    assert "What was changed is deleted" in page
    assert REVERT not in page


@each(
    ("action", "said"),
    [("delete", "What was deleted cannot be restored"), ("add", "To revert it, delete what it created.")],
)
def test_what_was_added_or_deleted_says_why_it_is_not_reverted(
    action: str, said: str, console: Client, project: Project
) -> None:
    window = make_window(project)
    if action == "delete":
        change(console, action_url(window, "delete"))
    page = shown(console, page_of(Event.objects.latest("id")))
    assert said in page
    assert REVERT not in page


def test_a_password_is_not_restored(console: Client) -> None:
    user = UserFactory.create()
    send(console, action_url(user, "reset_password"), {"password": PASSWORD, "again": PASSWORD})
    event = Event.objects.get(event_type="USER_PASSWORD_RESET_AUDIT")
    assert "passwords are not in events" in shown(console, page_of(event))


def test_a_form_names_the_secrets_that_it_cannot_restore(console: Client, project: Project) -> None:
    integration = make_integration(project, "CHAT_SERVICE", channelName="one")
    url = f"/admin/integrations/integration/{integration.id}/do/change/"
    event = change(console, url, channelName="two", apiToken="token-9876543210")
    form = " ".join(shown(console, reverting(event, url)).split())
    assert "Earlier values: Channel." in form
    assert "<strong>Cannot be restored:</strong> API token." in form
    assert send(console, url, typed_in(form)).status_code == 302
    integration.refresh_from_db()
    assert integration_values(integration)["apiToken"] == "token-9876543210"


def test_who_may_not_change_a_key_or_roles_is_not_offered_a_revert(console: Client, project: Project) -> None:
    user = UserFactory.create()
    RoleGrant.objects.create(user=user, role=Role.GROUP_OWNER.value, project=project)
    event = change_of_roles(console, action_url(user, "roles"), no_ticks(user))
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert REVERT not in shown(reader, page_of(event))
