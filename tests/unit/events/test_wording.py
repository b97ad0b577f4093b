"""Events in words."""

from events.types import EVENT_TYPES
from events.wording import in_words
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
