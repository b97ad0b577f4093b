"""Events in words."""

from events.types import EVENT_TYPES
from events.wording import _BY_STRANGERS, _SENTENCES, in_words, sentence
from tests.each import each


@each(
    ("name", "words"),
    [
        ("HOST_DOWN", "Host down"),
        ("RS_STATE", "Replica set state"),
        ("GROUP_CREATED", "Project created"),
        ("JOINED_GROUP", "Joined project"),
        ("ALERT_CONFIG", "Alert configuration"),
        ("ALERT_CONFIG_ADDED_AUDIT", "Alert configuration added"),
        ("AUTOMATION_CONFIG", "Automation configuration"),
        ("ORG_CREATED", "Organization created"),
        ("API_KEY_CREATED", "API key created"),
        ("MFA", "MFA"),
        ("MODIFIED", "Modified"),
    ],
)
def test_a_name_is_said_in_the_words_of_the_console(name: str, words: str) -> None:
    assert in_words(name) == words


@each("name", [event_type.value for event_type in EVENT_TYPES])
def test_no_event_type_is_said_in_words_of_the_code(name: str) -> None:
    said = in_words(name)
    assert said[:1].isupper()
    assert {"group", "config", "conf", "rs", "org", "audit", ""}.isdisjoint(said.lower().split(" "))


@each(
    ("name", "details", "project", "words"),
    [
        ("JOINED_GROUP", {"targetUsername": "nina"}, "payments", "nina joined payments"),
        ("JOINED_GROUP", {"targetUsername": "nina"}, None, "nina joined a project"),
        ("JOINED_GROUP", {"targetUsername": "{project}"}, "payments", "{project} joined payments"),
        ("JOINED_GROUP", {}, "payments", "Joined project"),
        ("JOINED_ORG", {"targetUsername": "nina"}, None, "nina joined the organization"),
        ("USER_ROLES_CHANGED_AUDIT", {"targetUsername": "nina"}, "payments", "The roles of nina changed"),
        ("HOST_RESTARTED", {"hostname": "db1", "port": 27017}, "payments", "Host restarted: db1:27017"),
        ("GROUP_CREATED", {}, "payments", "Project created"),
        # Strangers choose the name.
        ("USER_CREATED_AUDIT", {"targetUsername": "http://example.com"}, None, "User created"),
    ],
)
def test_an_event_is_said_in_a_sentence(
    name: str, details: dict[str, object], project: str | None, words: str
) -> None:
    assert sentence(name, details, project) == words


def test_sentences_are_of_event_types() -> None:
    # The types of invitations to organizations are added together with these invitations.
    assert {*_SENTENCES, *_BY_STRANGERS} - {"INVITED_TO_ORG"} <= {name.value for name in EVENT_TYPES}
