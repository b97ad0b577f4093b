"""The ready templates write what their services accept, and no name mentions people or hides a link."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from events.types import Severity
from integrations.choices import ENDS, MessageKind
from integrations.messages import Message
from integrations.webhooks.templates import TEMPLATES, request_of
from tests.each import each
from tests.unit.integrations.messages import LONGEST, MOST_FACTS, ODD, make_message, named_everywhere
from tests.unit.integrations.webhooks.services import SERVICES, at, faults, shown_html

LINKS = {
    "link": "https://[2001:db8::1]:8443/admin/alerting/alert/6740a1b2c3d4e5f607080900/change/",
    "config_link": "https://[2001:db8::1]:8443/admin/alerting/alertconfig/6740a1b2c3d4e5f607080901/change/",
    "runbook_url": "https://wiki.example.com/runbooks/host-down".ljust(500, "x"),
}
HOSTILE = [
    "@everyone",
    "@here",
    "x @all",
    "x @channel.",
    "@**all**",
    "@_**ada**",
    "@*oncall*",
    "@ada",
    "<!channel>",
    "<!here|x>",
    "<@0123456789>",
    "<@&0123456789>",
    "<users/all>",
    "[db1](https://evil.example)",
    "<https://evil.example|db1>",
    "` @all [db1](https://evil.example) `",
    "``` @all [db1](https://evil.example) ```",
    "</pre></code><a href='https://evil.example'>db1</a>",
    "&lt;a href=https://evil.example&gt;",
    "{{link}} {{url.chat_id}} {{title}}",
    '"}], "content": "@everyone"',
]
KINDS: list[dict[str, Any]] = [
    *({"kind": kind, "severity": severity} for kind in MessageKind for severity in Severity),
    {"kind": MessageKind.INFORM, "is_test": True},
]
EACH = pytest.mark.parametrize("name", SERVICES)


def sent(name: str, message: Message) -> tuple[Any, list[str]]:
    """The document that a template sends, and what the service would refuse."""
    request = request_of(TEMPLATES[name], SERVICES[name].url, message)
    found = json.loads(request.body)
    ids = {"key": message.thread_key, "delivery": message.delivery_id}
    return found, list(faults(name, message.kind.value, request, ids, found))


def test_the_limits_of_every_service_are_known() -> None:
    assert set(TEMPLATES) == set(SERVICES)
    for name, template in TEMPLATES.items():
        service = SERVICES[name]
        assert (template.url, template.authorization) == (service.url, service.authorization)
        assert template.tracks_alerts == (name in {"incident-io", "jira-service-management", "grafana-irm"})


@EACH
def test_the_service_accepts_each_kind_of_message(name: str) -> None:
    for changes in KINDS:
        for links in ({}, LINKS):
            message = make_message(**changes, **links)
            _, refused = sent(name, message)
            assert refused == [], (changes, links)


@EACH
def test_people_read_what_happened_and_where_to_look(name: str) -> None:
    document, _ = sent(name, make_message(**LINKS))
    said = "\n".join(SERVICES[name].said(document))
    assert "Host down" in said
    assert "db1.example.com:27017" in said
    assert "payments" in said
    assert LINKS["link"] in json.dumps(document)
    assert LINKS["runbook_url"] in json.dumps(document)


@EACH
def test_a_message_without_project_and_target_is_accepted(name: str) -> None:
    for changes in KINDS:
        _, refused = sent(name, make_message(**changes, project_name=None, target=None, known={}))
        assert refused == [], changes


@EACH
def test_the_longest_texts_keep_to_the_limits(name: str) -> None:
    for char in [*LONGEST, "<", "漢"]:
        for kind in (MessageKind.OPEN, MessageKind.ACKNOWLEDGE, MessageKind.CLOSE, MessageKind.INFORM):
            longest = named_everywhere(char * 400, MOST_FACTS)
            document = {"acknowledgingUsername": char * 500, "acknowledgementComment": char * 500}
            message = make_message(kind=kind, **longest, **LINKS, document=document)
            _, refused = sent(name, message)
            assert refused == [], (char, kind)


@EACH
def test_cut_facts_end_with_an_ellipsis(name: str) -> None:
    document, _ = sent(name, make_message(**named_everywhere("x" * 500, MOST_FACTS)))
    assert "…" in SERVICES[name].said(document)[-1]


@EACH
def test_odd_names_are_accepted(name: str) -> None:
    for odd in ODD:
        for changes in KINDS:
            names = {**named_everywhere(odd), "event_type_name": "HOST_DOWN"}
            document, refused = sent(name, make_message(**changes, **names))
            assert refused == [], (odd, changes)
            assert all(
                not char.isspace() or char in " \n" for text in SERVICES[name].said(document) for char in text
            )


@EACH
def test_no_name_mentions_people_or_hides_a_link(name: str) -> None:
    service = SERVICES[name]
    for hostile in HOSTILE:
        for changes in KINDS:
            message = make_message(**changes, **named_everywhere(hostile), **LINKS)
            document, refused = sent(name, message)
            assert refused == [], (hostile, changes)
            for text in service.said(document):
                assert service.found(text) == [], (hostile, changes, text)


@each("said", ["@all", "x @channel", "<!channel>"])
def test_the_readers_of_mentions_find_them(said: str) -> None:
    assert SERVICES["mattermost"].found(said)


@each(
    ("name", "said"),
    [
        ("discord", "[db1](https://evil.example)"),
        ("rocket-chat", "x\n@all"),
        ("google-chat", "<users/all>"),
        ("zulip", "@**all**"),
        ("telegram", "<a href='https://evil.example'>x</a>"),
        ("telegram", "<pre>@ada</pre>"),
        ("incident-io", "<https://evil.example|db1>"),
        ("grafana-irm", "<!here>"),
    ],
)
def test_each_reader_finds_what_its_service_would_follow(name: str, said: str) -> None:
    assert SERVICES[name].found(said)


@each("name", sorted(SERVICES.keys() - {"ntfy", "telegram", "matrix", "jira-service-management"}))
def test_no_name_ends_a_block_of_code(name: str) -> None:
    document, _ = sent(name, make_message(**named_everywhere("```\n`x` ```")))
    said = SERVICES[name].said(document)
    assert sum(text.count("```") for text in said) == 2
    assert all(text.replace("```", "").count("`") in {0, 2} for text in said)


@each("name", [name for name, service in SERVICES.items() if service.key])
def test_all_messages_about_one_alert_have_the_same_key(name: str) -> None:
    key = SERVICES[name].key or ""
    message = make_message()
    found = {at(sent(name, replace(message, kind=kind))[0], key) for kind in MessageKind}
    assert found == {message.thread_key}


@each("name", [name for name, service in SERVICES.items() if service.states])
def test_the_end_of_an_alert_and_nothing_else_resolves_it(name: str) -> None:
    for path, (open_, closed) in SERVICES[name].states.items():
        found = {kind: at(sent(name, make_message(kind=kind))[0], path) for kind in MessageKind}
        assert found == {kind: closed if kind in ENDS else open_ for kind in MessageKind}


def test_jira_service_management_names_who_acknowledged() -> None:
    document = {"acknowledgingUsername": "jane", "acknowledgementComment": "on it"}
    message = make_message(kind=MessageKind.ACKNOWLEDGE, document=document)
    assert sent("jira-service-management", message)[0] == {
        "source": "Ops API",
        "user": "jane",
        "note": "on it",
    }


def test_an_attempt_has_the_same_transaction_at_matrix_and_another_message_another() -> None:
    template, url = TEMPLATES["matrix"], SERVICES["matrix"].url
    message = make_message()
    first, again = request_of(template, url, message), request_of(template, url, message)
    other = request_of(template, url, make_message(delivery_id="6740a1b2c3d4e5f607080911"))
    assert first == again
    assert first.url != other.url


@each("name", ["a & b", "&lt;", "<b>x</b>", "a > b", "&amp;amp;"])
def test_telegram_shows_names_as_they_are(name: str) -> None:
    text = sent("telegram", make_message(**named_everywhere(name)))[0]["text"]
    assert f"Fact 3: {name}" in shown_html(text)[1]
    assert re.fullmatch(r"(?:[^<>&]|&(?:amp|lt|gt);)*", re.sub(r"</?(?:b|code|pre)>", "", text))
