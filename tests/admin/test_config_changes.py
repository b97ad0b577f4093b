"""Alert configurations changed and copied in the console, as the API would."""

import re

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.configs.store import config_secrets
from alerting.models import AlertConfig
from events.models import Event
from events.types import EventType
from opsapi.console.admin_urls import page_url
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.admin.configs import HOSTILE, do, every_type, facts, send
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_team
from tests.factories.alerting import WEBHOOK, make_config, make_global_config

pytestmark = pytest.mark.django_db

_OF_URL = ("webhookAuthorization", "webhookHeaders", "webhookTemplate", "webhookBody")


class TestChanging:
    """PUT, by a form."""

    @pytest.mark.slow
    @each("is_global", [False, True], ids=["project", "global"])
    def test_what_is_shown_changes_nothing(
        self, is_global: bool, console: Client, operator: User, project: Project
    ) -> None:
        team = make_team(project, operator)
        every_notification = every_type(is_global=is_global, team_id=team.id, username=operator.username)
        matchers = [{"fieldName": "HOSTNAME", "operator": "REGEX", "value": HOSTILE}]
        if is_global:
            config = make_global_config(
                notifications=every_notification, matchers=matchers, tags=["prod", " eu"]
            )
        else:
            config = make_config(project, notifications=every_notification, matchers=matchers, enabled=False)
        before, secrets = facts(config), config_secrets(config)
        with leaves_events(operator):
            answer = send(console, do(config, "change"), typed_in(shown(console, do(config, "change"))))
        assert answer.status_code == 302, answer.context["form"].errors
        assert facts(config) == before
        assert config_secrets(config) == secrets

    def test_ids_of_no_project_stay_unless_they_are_taken_out(
        self, console: Client, operator: User, project: Project
    ) -> None:
        named = [new_id(), project.id, new_id()]
        config = make_global_config(forAllGroups=False, groupIds=named)
        assert f"{project.name}</a> (2 that are no project)" in shown(console, page_url(config))
        typed = typed_in(shown(console, do(config, "change")))
        with leaves_events(operator):
            send(console, do(config, "change"), typed)
        assert facts(config)["groupIds"] == named
        with leaves_events(operator, EventType.ALERT_CONFIG_CHANGED_AUDIT):
            send(console, do(config, "change"), typed | {"groupIds": named[:2]})
        assert facts(config)["groupIds"] == named[:2]

    def test_one_stored_without_projects_is_changed_as_it_is(
        self, console: Client, operator: User, project: Project
    ) -> None:
        config = make_global_config(forAllGroups=False, groupIds=[project.id])
        # So an earlier version left one whose last project was deleted.
        AlertConfig.objects.update(group_ids=[], enabled=False)
        typed = typed_in(shown(console, do(config, "change")))
        with leaves_events(operator):
            send(console, do(config, "change"), typed)
        with leaves_events(operator, EventType.ALERT_CONFIG_CHANGED_AUDIT):
            send(console, do(config, "change"), typed | {"notifications[0].delayMin": ["7"]})
        now = facts(config)
        assert (now["groupIds"], now["notifications"][0]["delayMin"]) == ([], 7)

    def test_a_change_is_created_and_the_secrets_stay(
        self, console: Client, operator: User, project: Project
    ) -> None:
        config = make_config(project)
        typed = typed_in(shown(console, do(config, "change"))) | {"notifications[0].delayMin": ["7"]}
        secrets = config_secrets(config)
        with leaves_events(operator, EventType.ALERT_CONFIG_CHANGED_AUDIT):
            send(console, do(config, "change"), typed)
        assert facts(config)["notifications"][0]["delayMin"] == 7
        assert config_secrets(config) == secrets

    def test_a_typed_secret_takes_the_place_of_the_stored_one(
        self, console: Client, project: Project
    ) -> None:
        config = make_config(project)
        typed = typed_in(shown(console, do(config, "change")))
        assert typed["notifications[0].webhookSecret"] == [""]
        send(console, do(config, "change"), typed | {"notifications[0].webhookSecret": ["another"]})
        (secrets,) = config_secrets(config).values()
        assert secrets == {"webhookUrl": WEBHOOK["webhookUrl"], "webhookSecret": "another"}

    def test_a_stored_secret_is_removed_by_its_box(self, console: Client, project: Project) -> None:
        config = make_config(project)
        typed = typed_in(shown(console, do(config, "change")))
        send(console, do(config, "change"), typed | {"notifications[0].webhookSecret.clear": ["on"]})
        (secrets,) = config_secrets(config).values()
        assert secrets == {"webhookUrl": WEBHOOK["webhookUrl"]}

    def test_a_stored_secret_is_reported_next_to_its_row_when_new_rows_are_before_it(
        self, console: Client, project: Project
    ) -> None:
        config = make_config(project)
        typed = typed_in(shown(console, do(config, "change")))
        stored = {
            name.replace("[0]", "[1]"): typed[name] for name in typed if name.startswith("notifications[0].")
        }
        new = {"notifications[0].typeName": ["WEBHOOK"], "notifications[0].webhookUrl": ["ftp://wrong"]}
        rest = {name: texts for name, texts in typed.items() if not name.startswith("notifications[0].")}
        page = send(console, do(config, "change"), rest | new | stored).content.decode()
        assert 'name="notifications[1].webhookSecret.clear"' in page
        assert 'name="notifications[0].webhookSecret.clear"' not in page

    def test_a_new_url_asks_for_its_secret_again(
        self, console: Client, operator: User, project: Project
    ) -> None:
        config = make_config(project)
        typed = typed_in(shown(console, do(config, "change")))
        with leaves_events(operator):
            answer = send(
                console,
                do(config, "change"),
                typed | {"notifications[0].webhookUrl": ["https://new.example/in"]},
            )
        errors = answer.context["form"].errors
        assert list(errors) == ["notifications[0].webhookSecret"]
        assert "https://new.example/in" not in answer.content.decode()

    def test_an_error_in_a_body_names_its_place(self, console: Client, project: Project) -> None:
        config = make_config(project)
        typed = typed_in(shown(console, do(config, "change")))
        name = "notifications[0].webhookBody"
        body = '{"a": [{"b": "{{titel}}"}]}'
        answer = send(console, do(config, "change"), typed | {name: [body]})
        [fault] = answer.context["form"].errors[name]
        assert fault.startswith("a[0].b: ")
        assert "hostnameAndPort" in fault

    def test_fields_of_a_url_do_not_promise_the_integration(self, console: Client, project: Project) -> None:
        form = console.get(do(make_config(project), "change")).context["form"]
        helps = {name: form.fields[f"notifications[0].{name}"].help_text for name in _OF_URL}
        assert [name for name, text in helps.items() if "integration" in text] == []
        assert all(text.startswith("Only with a URL") for text in helps.values())

    def test_templates_have_the_names_of_their_services(self, console: Client, project: Project) -> None:
        page = shown(console, do(make_config(project), "change"))
        assert re.search(r'<option value="rocket-chat"[^>]*>Rocket.Chat<', page)

    def test_a_row_is_removed_by_its_box(self, console: Client, project: Project) -> None:
        config = make_config(project, notifications=[WEBHOOK, {"typeName": "ADMIN", "delayMin": 0}][:1] * 2)
        typed = typed_in(shown(console, do(config, "change")))
        kept = typed["notifications[1].id"]
        send(console, do(config, "change"), typed | {"notifications[0].removed": ["on"]})
        assert [notification["id"] for notification in facts(config)["notifications"]] == kept

    def test_what_somebody_else_changed_meanwhile_is_not_overwritten_unseen(
        self, console: Client, operator: User, project: Project
    ) -> None:
        config = make_config(project)
        typed = typed_in(shown(console, do(config, "change"))) | {"updated": ["2020-01-01T00:00:00Z"]}
        with leaves_events(operator):
            answer = send(console, do(config, "change"), typed | {"notifications[0].delayMin": ["7"]})
        page = answer.content.decode()
        assert "Somebody else has changed this configuration" in page
        with leaves_events(operator, EventType.ALERT_CONFIG_CHANGED_AUDIT):
            send(console, do(config, "change"), typed_in(page))

    @pytest.mark.slow
    @each("action", ["change", "test", "enable", "disable", "delete"])
    def test_who_may_only_read_can_do_nothing(self, action: str, project: Project) -> None:
        browser = browser_with(Role.GROUP_READ_ONLY, project=project)
        config = make_config(project)
        before = Event.objects.count()
        assert browser.get(do(config, action)).status_code == 403
        assert send(browser, do(config, action), {}).status_code == 403
        assert Event.objects.count() == before

    @each("action", ["change", "test", "enable", "disable", "copy", "delete"])
    def test_who_writes_a_project_does_not_find_global_ones(self, action: str, project: Project) -> None:
        browser = browser_with(Role.GROUP_OWNER, project=project)
        assert send(browser, do(make_global_config(), action), {}).status_code == 404
        assert not Event.objects.exclude(event_type="ALERT_CONFIG_ADDED_AUDIT").exists()

    @each("action", ["change", "test", "disable", "delete"])
    def test_who_reads_everything_can_do_nothing_to_global_ones(self, action: str, project: Project) -> None:
        browser = browser_with(Role.GLOBAL_READ_ONLY)
        assert send(browser, do(make_global_config(), action), {}).status_code == 403


class TestCopying:
    """A new configuration like another one."""

    def test_a_copy_is_a_new_one_without_secrets(
        self, console: Client, operator: User, project: Project
    ) -> None:
        config = make_config(project, matchers=[{"fieldName": "PORT", "operator": "EQUALS", "value": "1"}])
        typed = typed_in(shown(console, do(config, "copy")))
        assert "notifications[0].id" not in typed
        typed["notifications[0].webhookUrl"] = ["https://copy.example/in"]
        with leaves_events(operator, EventType.ALERT_CONFIG_ADDED_AUDIT):
            send(console, do(config, "copy"), typed)
        copy = AlertConfig.objects.exclude(id=config.id).get()
        assert facts(copy)["matchers"] == facts(config)["matchers"]
        assert list(config_secrets(copy).values()) == [{"webhookUrl": "https://copy.example/in"}]

    def test_it_can_be_created_in_another_project(self, project: Project) -> None:
        other = ProjectFactory.create()
        browser = browser_with(Role.GROUP_MONITORING_ADMIN, project=other)
        User.objects.get().grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
        config = make_config(
            project, notifications=[{"typeName": "EMAIL", "emailAddress": "a@example.com", "delayMin": 0}]
        )
        typed = typed_in(shown(browser, do(config, "copy")))
        assert send(browser, do(config, "copy"), typed | {"group": [project.id]}).status_code == 200
        assert send(browser, do(config, "copy"), typed | {"group": [other.id]}).status_code == 302
        assert AlertConfig.objects.filter(group=other).count() == 1
        assert AlertConfig.objects.filter(group=project).count() == 1
