"""One change of many rules: what the page shows before it saves, and that all rules change or none."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accesslist.models import Project, User
from alerting.configs.bulk_forms import NOT_SEEN
from alerting.models import AlertConfig
from events.types import EventType
from opsapi.roles import Role
from tests.admin.configs import CONFIGS, facts
from tests.admin.operators import browser_with, operator_with
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events, post
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config, make_global_config
from tests.factories.integrations import make_integration

pytestmark = pytest.mark.django_db

ADA = {"typeName": "EMAIL", "emailAddress": "ada@example.com", "delayMin": 5, "intervalMin": 60}
BOB = {"typeName": "EMAIL", "emailAddress": "bob@example.com", "delayMin": 0, "intervalMin": 60}
HOOK = {
    "typeName": "WEBHOOK",
    "webhookUrl": "https://hooks.example.com/in/0123456789",
    "webhookSecret": "a long enough secret",
    "delayMin": 0,
}
CHANGED = EventType.ALERT_CONFIG_CHANGED_AUDIT
ENABLED = EventType.ALERT_CONFIG_ENABLED_AUDIT


@pytest.fixture
def rules(project: Project) -> list[AlertConfig]:
    return [
        make_config(project, name="first", notifications=[ADA, BOB], enabled=False),
        make_config(project, name="second", eventTypeName="NO_PRIMARY", notifications=[HOOK, ADA]),
    ]


def opened(browser: Client, rules: list[AlertConfig], **typed: Any) -> Any:
    """The page of the change of these rules; with `typed`, as the browser sends its form."""
    sent = {"confirmed": "yes", **typed} if typed else {}
    return post(browser, CONFIGS, action="edit", _selected_action=[rule.id for rule in rules], **sent)


def previewed(browser: Client, rules: list[AlertConfig], **typed: Any) -> Any:
    return opened(browser, rules, preview="yes", **typed)


def saved(browser: Client, rules: list[AlertConfig], **typed: Any) -> Any:
    """Show the changes of the rules, and save what was shown."""
    form = typed_in(previewed(browser, rules, **typed).content.decode())
    return post(browser, CONFIGS, **form)


def options(page: Any, name: str) -> dict[str, str]:
    """The values of a select by their words."""
    return {str(words): str(value) for value, words in page.context["form"].fields[name].choices}


def leaves(page: Any) -> dict[str, list[tuple[str, str, str]]]:
    """The changes that the page shows, by rule: field, before and after."""
    return {
        each.config.name: [
            (row.field, row.before.shown if row.before else "", row.after.shown if row.after else "")
            for row in each.resource.rows
        ]
        for each in page.context["form"].changed
        if each.resource
    }


def notifications(rule: AlertConfig) -> list[dict[str, Any]]:
    """The notifications without their IDs."""
    found = facts(rule)["notifications"]
    return [{name: value for name, value in each.items() if name != "id"} for each in found]


def test_rules_are_enabled_and_disabled(console: Client, operator: User, rules: list[AlertConfig]) -> None:
    page = previewed(console, rules, change="enable")
    assert leaves(page) == {"first": [("Enabled", "false", "true")]}
    assert page.context["form"].unchanged == 1
    with leaves_events(operator, ENABLED):
        assert saved(console, rules, change="enable").status_code == 302
    with leaves_events(operator, *[EventType.ALERT_CONFIG_DISABLED_AUDIT] * 2):
        saved(console, rules, change="disable")


def test_a_preview_and_a_page_without_a_preview_save_nothing(
    console: Client, operator: User, rules: list[AlertConfig]
) -> None:
    with leaves_events(operator):
        opened(console, rules)
        previewed(console, rules, change="enable")
        page = opened(console, rules, change="enable")
    assert NOT_SEEN in page.content.decode()
    assert leaves(page)


def test_another_change_than_the_shown_one_is_not_saved(
    console: Client, operator: User, rules: list[AlertConfig]
) -> None:
    form = typed_in(previewed(console, rules, change="enable").content.decode())
    with leaves_events(operator):
        page = post(console, CONFIGS, **{**form, "change": "disable"})
    assert NOT_SEEN in page.content.decode()


def test_a_destination_is_added(console: Client, operator: User, rules: list[AlertConfig]) -> None:
    before = notifications(rules[1])
    typed = {"change": "add", "added": "address", "address": "bob@example.com"}
    page = previewed(console, rules, **typed)
    # The first rule has it.
    assert list(leaves(page)) == ["second"]
    with leaves_events(operator, CHANGED):
        saved(console, rules, **typed)
    # The secrets of the others stay.
    assert notifications(rules[1]) == [*before, BOB]


@each(
    ("words", "added"),
    [
        ("Project members by e-mail", {"typeName": "GROUP", "emailEnabled": True, "smsEnabled": False}),
        ("Slack with the integration of the project", {"typeName": "CHAT_SERVICE"}),
        ("E-mail bob@example.com", {"typeName": "EMAIL", "emailAddress": "bob@example.com"}),
    ],
)
def test_services_and_known_destinations_are_offered(
    words: str, added: dict[str, Any], console: Client, project: Project, rules: list[AlertConfig]
) -> None:
    make_integration(project, "CHAT_SERVICE")
    offered = options(opened(console, rules), "added")
    assert not [words for words in offered if words.startswith("Webhook")]
    saved(console, rules, change="add", added=offered[words])
    for rule in rules:
        assert any(added.items() <= each.items() for each in notifications(rule))


def test_a_destination_is_removed(console: Client, operator: User, rules: list[AlertConfig]) -> None:
    known = options(opened(console, rules), "destination")
    assert list(known) == [
        "All",
        "E-mail ada@example.com (2 of 2)",
        "E-mail bob@example.com (1 of 2)",
        "Webhook (1 of 2)",
    ]
    typed = {"change": "remove", "destination": known["E-mail ada@example.com (2 of 2)"]}
    with leaves_events(operator, CHANGED, CHANGED):
        saved(console, rules, **typed)
    assert notifications(rules[0]) == [BOB]
    assert [each["typeName"] for each in notifications(rules[1])] == ["WEBHOOK"]


def test_the_delay_of_all_or_of_one_destination_is_set(
    console: Client, operator: User, rules: list[AlertConfig]
) -> None:
    known = options(opened(console, rules), "destination")
    page = previewed(console, rules, change="delay", minutes="10")
    assert leaves(page)["first"] == [
        ("Notifications 1 · delay min", "5", "10"),
        ("Notifications 2 · delay min", "0", "10"),
    ]
    with leaves_events(operator, CHANGED):
        saved(
            console,
            rules,
            change="interval",
            minutes="30",
            destination=known["E-mail bob@example.com (1 of 2)"],
        )
    assert [each["intervalMin"] for each in notifications(rules[0])] == [60, 30]
    saved(console, rules, change="delay", minutes="10")
    assert {each["delayMin"] for rule in rules for each in notifications(rule)} == {10}


def test_a_refused_rule_is_named_and_no_rule_changes(
    console: Client, operator: User, project: Project, rules: list[AlertConfig]
) -> None:
    """A rule needs a destination."""
    known = options(opened(console, [rules[0]]), "destination")
    only = make_config(project, name="only", eventTypeName="HOST_UP", notifications=[BOB])
    typed = {"change": "remove", "destination": known["E-mail bob@example.com (1 of 1)"]}
    page = previewed(console, [*rules, only], **typed)
    assert [bool(each.refusal) for each in page.context["form"].changed] == [False, True]
    with leaves_events(operator):
        page = saved(console, [*rules, only], **typed)
    assert "only: Host up: " in str(page.context["form"].non_field_errors())
    assert "Nothing was changed." in str(page.context["form"].non_field_errors())
    assert len(notifications(rules[0])) == 2


def test_a_rule_that_was_changed_meanwhile_is_named_and_no_rule_changes(
    console: Client, operator: User, rules: list[AlertConfig]
) -> None:
    form = typed_in(previewed(console, rules, change="disable").content.decode())
    AlertConfig.objects.filter(id=rules[1].id).update(updated=rules[1].updated + timedelta(microseconds=1))
    with leaves_events(operator):
        page = post(console, CONFIGS, **form)
    errors = str(page.context["form"].non_field_errors())
    assert "second: No primary was changed meanwhile" in errors
    assert "first" not in errors
    # What is shown now can be saved.
    with leaves_events(operator, EventType.ALERT_CONFIG_DISABLED_AUDIT):
        post(console, CONFIGS, **typed_in(page.content.decode()))


def test_a_rule_that_changes_while_the_others_are_saved_undoes_them(
    console: Client, operator: User, rules: list[AlertConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    form = typed_in(previewed(console, rules, change="delay", minutes="9").content.decode())
    later = max(rules, key=lambda rule: rule.id)
    seen = json.loads(form["seen"][0])["updated"]
    monkeypatch.setattr(
        "alerting.configs.bulk_forms.BulkRulesForm.values",
        property(lambda self: {"edit": self.edit, "updated": {**seen, later.id: "before"}}),
    )
    with leaves_events(operator):
        page = post(console, CONFIGS, **form)
    assert f"This is about the rule {later}. No rule was changed." in page.content.decode()
    assert {each["delayMin"] for each in notifications(rules[0])} == {5, 0}


@each(
    ("typed", "field"),
    [
        ({"change": ""}, "change"),
        ({"change": "zzz"}, "change"),
        ({"change": "add"}, "added"),
        ({"change": "add", "added": "address"}, "address"),
        ({"change": "remove"}, "destination"),
        ({"change": "remove", "destination": "zzz"}, "destination"),
        ({"change": "delay"}, "minutes"),
        ({"change": "delay", "minutes": "-1"}, "minutes"),
        ({"change": "interval", "minutes": "x"}, "minutes"),
    ],
)
def test_a_change_without_its_input_is_refused_next_to_the_field(
    typed: dict[str, str], field: str, console: Client, operator: User, rules: list[AlertConfig]
) -> None:
    with leaves_events(operator):
        page = previewed(console, rules, **typed)
    assert list(page.context["form"].errors) == [field]
    assert not page.context["form"].preview


def test_a_short_interval_is_refused_by_the_rule(console: Client, rules: list[AlertConfig]) -> None:
    page = previewed(console, rules, change="interval", minutes="1")
    assert all("intervalMin" in each.refusal for each in page.context["form"].changed)


def test_a_change_of_no_rule_is_not_saved(console: Client, operator: User, rules: list[AlertConfig]) -> None:
    with leaves_events(operator):
        page = saved(console, rules[1:], change="enable")
    assert "No rule changes." in page.content.decode()


def test_global_rules_change_too(console: Client, operator: User, rules: list[AlertConfig]) -> None:
    shared = make_global_config(forAllGroups=True, name="shared", notifications=[ADA])
    with leaves_events(operator, CHANGED, CHANGED, CHANGED):
        answer = saved(console, [*rules, shared], change="delay", minutes="7")
    assert answer.status_code == 302
    assert [each["delayMin"] for each in notifications(shared)] == [7]


def test_who_may_not_change_a_rule_changes_none(rules: list[AlertConfig]) -> None:
    own = ProjectFactory.create()
    user, browser = operator_with(Role.GROUP_READ_ONLY, project=rules[0].group)
    with leaves_events(user, as_owner=False):
        opened(browser, rules, change="enable")
    reader = browser_with(Role.GROUP_MONITORING_ADMIN, project=own)
    assert "first" not in opened(reader, rules).content.decode()


def test_a_preview_costs_the_same_for_many_rules(
    console: Client, project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    rules = [make_config(project, name=f"rule {number}", notifications=[ADA]) for number in range(12)]
    with django_assert_max_num_queries(40):
        previewed(console, rules, change="disable")
