"""What people read of a message."""

from events.types import Severity
from integrations.choices import MessageKind
from integrations.messages import joined, printable
from tests.each import each
from tests.unit.integrations.messages import make_message


@each(
    ("changes", "title"),
    [
        ({}, "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments)"),
        ({"target": None}, "[OPEN] [CRITICAL] Host down (project payments)"),
        ({"project_name": None}, "[OPEN] [CRITICAL] Host down: db1.example.com:27017"),
        (
            {"kind": MessageKind.UPDATE},
            "[STILL OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments)",
        ),
        (
            {"severity": Severity.WARNING},
            "[OPEN] [WARNING] Host down: db1.example.com:27017 (project payments)",
        ),
        ({"severity": Severity.INFO}, "[OPEN] Host down: db1.example.com:27017 (project payments)"),
        (
            {"kind": MessageKind.INFORM, "severity": Severity.WARNING, "target": None},
            "[EVENT] [WARNING] Host down (project payments)",
        ),
        ({"kind": MessageKind.ACKNOWLEDGE, "target": None}, "[ACKNOWLEDGED] Host down (project payments)"),
        (
            {"kind": MessageKind.INFORM, "is_test": True, "target": None},
            "[TEST] Test notification for Host down (project payments)",
        ),
        ({"kind": MessageKind.CLOSE, "target": ""}, "[CLOSED] Host down (project payments)"),
        (
            {"project_name": "a\r\nBcc: x@y.z"},
            "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project a Bcc: x@y.z)",
        ),
    ],
)
def test_it_says_state_type_target_and_project_in_one_line(changes: dict[str, str], title: str) -> None:
    assert make_message(**changes).title == title


def test_its_title_stays_short_however_long_the_names() -> None:
    message = make_message(headline="E" * 500, target="t" * 500, project_name="p" * 500)
    assert message.title == f"[OPEN] [CRITICAL] {'E' * 119}…: {'t' * 119}… (project {'p' * 119}…)"


@each("kind", list(MessageKind))
def test_every_kind_has_a_label(kind: MessageKind) -> None:
    assert make_message(kind=kind).label.isupper()


def test_a_test_says_so_in_title_and_state() -> None:
    message = make_message(is_test=True)
    assert message.title.startswith("[TEST] Test notification ")
    assert message.facts["State"].startswith("Test")


def test_it_lists_only_facts_that_have_a_value() -> None:
    message = make_message(known={"Value": "93", "Host": "", "Comment": " \n", "Project": "a\nb"})
    assert dict(message.facts) == {"State": "Open", "Severity": "Critical", "Value": "93", "Project": "a b"}


@each(
    ("changes", "labels"),
    [
        ({}, []),
        ({"link": "https://a"}, ["Open the alert"]),
        ({"link": "https://a", "kind": MessageKind.INFORM}, ["Open the event"]),
        ({"link": "https://a", "config_link": "https://b"}, ["Open the alert", "Alert configuration"]),
        (
            {"link": "https://a", "config_link": "https://b", "runbook_url": "https://c"},
            ["Open the alert", "Runbook", "Alert configuration"],
        ),
    ],
)
def test_its_links_lead_to_what_it_is_about_first(changes: dict[str, str], labels: list[str]) -> None:
    assert list(make_message(**changes).links) == labels


def test_the_description_is_its_last_fact() -> None:
    message = make_message(known={"Host": "db1"}, description=" Call\nthe team. " + "x" * 2000)
    assert list(message.facts) == ["State", "Severity", "Host", "Description"]
    assert message.facts["Description"].startswith("Call the team. xxx")
    assert len(message.facts["Description"]) == 1000


@each(
    ("limit", "text"),
    [(0, ""), (1, "a"), (3, "a\nb"), (4, "a\nb"), (5, "a\nb\nd"), (7, "a\nb\nccc"), (9, "a\nb\nccc\nd")],
)
def test_pieces_that_do_not_fit_are_left_out_whole(limit: int, text: str) -> None:
    assert joined(["a", "b", "ccc", "d"], limit) == text


@each(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("Grüße, 世界", "Grüße, 世界"),
        ("a\r\nb", "a b"),
        ("a\x00b\x1b[31mc\x7f", "a b [31mc"),
        ("a\u2028b\u2029c", "a b c"),
        ("a\u202eb\u200bc\ufeff", "a b c"),
        ("a\ud800b", "a b"),
        ("  a  \t b ", "a b"),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 9 + "…"),
        ("xxxxxxxx yyy", "xxxxxxxx…"),
    ],
)
def test_it_makes_one_printable_line_of_ten(text: str, expected: str) -> None:
    assert printable(text, 10) == expected
