"""Which notification accepts which fields, in both kinds of configuration."""

from typing import Any

import pytest

from accesslist.models import Project, Team
from alerting.models import AlertConfig, NotificationSetting
from events.models import Event
from tests.api import bodies
from tests.api.notifications import (
    DEFAULTS,
    SECRETS,
    SHORTEST,
    SHOWN,
    STATEFUL,
    TYPES,
    ConfigPath,
    faults,
    fields_of,
    longest,
    make_people,
    shortest,
)
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, UserFactory, make_team

PROJECT_TYPES = [name for name in TYPES if name != "ADMIN"]
EVERYWHERE = [("project", PROJECT_TYPES), ("global", list(TYPES))]
ALL_FIELDS = sorted({field for name in TYPES for field in fields_of(name)})
MISSING = [
    (name, field) for name in TYPES for field in SHORTEST[name] if field not in ("emailEnabled", "smsEnabled")
]
NUMBERS = ["+12025550100", "(202) 555-0100", "2025550100", "+44 20 7946.0958", "12345"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def places(owner: ApiClient, project: Project) -> dict[str, ConfigPath]:
    """Both kinds of configurations, and a project whose people are known."""
    make_people(project)
    return {kind: ConfigPath(owner, project, is_global=kind == "global") for kind in ("project", "global")}


@pytest.fixture
def place(places: dict[str, ConfigPath]) -> ConfigPath:
    """A project's configurations."""
    return places["project"]


def shown(sent: dict[str, Any]) -> dict[str, Any]:
    """What answers say of it, but for its id."""
    name = sent["typeName"]
    schedule = {"delayMin": 0} | ({} if name in STATEFUL else {"intervalMin": 60})
    redacted = {field: SHOWN[field] for field in sent if field in SHOWN}
    return {**schedule, **DEFAULTS.get(name, {}), **sent, **redacted}


@each("form", [shortest, longest], ids=["shortest", "longest"])
@each(("kind", "names"), EVERYWHERE)
def test_each_type_is_taken_and_shown(
    places: dict[str, ConfigPath], kind: str, names: list[str], form: Any
) -> None:
    answer = places[kind].post(*map(form, names))
    assert answer.status_code == 201, answer.json()
    made = answer.json()["notifications"]
    ids = list(NotificationSetting.objects.order_by("position").values_list("id", flat=True))
    expected = [{"id": id_, **shown(form(name))} for id_, name in zip(ids, names, strict=True)]
    assert made == expected
    assert places[kind].get(answer.json())["notifications"] == made


@each("kind", ["project", "global"])
@each(("name", "field"), MISSING)
def test_what_it_cannot_do_without_is_asked_for(
    places: dict[str, ConfigPath], kind: str, name: str, field: str
) -> None:
    answer = places[kind].post(shortest(name, **{field: None}))
    if kind == "global" and field in SECRETS:
        assert answer.status_code == 201  # it is looked up in the alert's project
    else:
        code = "WEBHOOK_URL_NOT_SET" if name == "WEBHOOK" else "MISSING_ATTRIBUTE"
        assert faults(answer) == [(f"notifications[0].{field}", code)]
        assert not AlertConfig.objects.exists()


@each("kind", ["project", "global"])
@each("name", TYPES)
def test_what_goes_with_other_types_is_refused(places: dict[str, ConfigPath], kind: str, name: str) -> None:
    own = fields_of(name)
    foreign = [field for field in ALL_FIELDS if field not in own]
    answer = places[kind].post(shortest(name, **dict.fromkeys(foreign, "x"), colour="red"))
    bad = {field["field"]: field for field in answer.json()["badFields"]}
    of_kind = {"notifications[0].typeName"} if (kind, name) == ("project", "ADMIN") else set()
    assert set(bad) == {f"notifications[0].{field}" for field in (*foreign, "colour")} | of_kind
    allowed = sorted({*own, "id", "typeName", "delayMin", "intervalMin", "minSeverity"})
    assert bad["notifications[0].colour"]["allowed"] == allowed
    assert not AlertConfig.objects.exists()


def test_admin_is_for_global_configurations_only(place: ConfigPath) -> None:
    answer = place.post(shortest("ADMIN"))
    assert faults(answer) == [("notifications[0].typeName", "NOTIFICATION_TYPE_IS_GLOBAL_ONLY")]
    assert answer.json()["badFields"][0]["allowed"] == PROJECT_TYPES


@each("kind", ["project", "global"])
def test_there_is_one_group_notification_at_most(places: dict[str, ConfigPath], kind: str) -> None:
    answer = places[kind].post(shortest("GROUP"), shortest("EMAIL"), longest("GROUP"))
    assert faults(answer) == [("notifications", "TOO_MANY_GROUP_NOTIFICATIONS")]
    assert not AlertConfig.objects.exists()
    assert places[kind].post(shortest("ORG"), shortest("GROUP"), shortest("EMAIL")).status_code == 201


@each("kind", ["project", "global"])
def test_there_is_one_organization_notification_at_most(places: dict[str, ConfigPath], kind: str) -> None:
    answer = places[kind].post(shortest("ORG"), shortest("EMAIL"), longest("ORG"))
    assert faults(answer) == [("notifications", "TOO_MANY_GROUP_NOTIFICATIONS")]
    assert not AlertConfig.objects.exists()


@each("nothing", [None, []], ids=str)
@each(("kind", "names"), EVERYWHERE)
def test_what_goes_with_other_types_and_says_nothing_is_as_good_as_left_out(
    places: dict[str, ConfigPath], kind: str, names: list[str], nothing: Any
) -> None:
    sent = []
    for name in names:
        foreign = (
            {*ALL_FIELDS, "teamName"} - set(fields_of(name)) - ({"teamName"} if name == "TEAM" else set())
        )
        sent.append({**dict.fromkeys(foreign, nothing), **shortest(name)})
    answer = places[kind].post(*sent)
    assert answer.status_code == 201, answer.json()
    found = [{**notification, "id": ""} for notification in answer.json()["notifications"]]
    assert found == [{**shown(shortest(name)), "id": ""} for name in names]


@each("nothing", [None, []], ids=str)
def test_what_is_no_field_of_any_type_is_refused_whatever_it_says(place: ConfigPath, nothing: Any) -> None:
    answer = place.post({**shortest("EMAIL"), "colour": nothing})
    assert faults(answer) == [("notifications[0].colour", "INVALID_ATTRIBUTE")]


@each("value", [False, 0, "", {}, [None]], ids=str)
def test_what_goes_with_other_types_is_refused_however_little_it_says(place: ConfigPath, value: Any) -> None:
    answer = place.post({**shortest("EMAIL"), "username": value})
    assert faults(answer) == [("notifications[0].username", "INVALID_ATTRIBUTE")]


@pytest.mark.slow
@each("nothing", [None, []], ids=str)
@each("kind", ["project", "global"])
@each("name", ["GROUP", "ORG"])
def test_no_roles_are_shown_as_an_empty_array_and_written_back(
    places: dict[str, ConfigPath], kind: str, name: str, nothing: Any
) -> None:
    made = places[kind].post(shortest(name)).json()
    (notification,) = made["notifications"]
    assert notification["roles"] == []
    for sent in ({**notification, "roles": nothing}, notification):
        answer = places[kind].put(made, sent)
        assert (answer.status_code, answer.json()) == (200, made)
    assert Event.objects.count() == 1


@each("name", ["GROUP", "ORG", "USER", "TEAM", "ADMIN"])
@each(
    "chosen",
    [
        {"emailEnabled": False, "smsEnabled": False},
        {"emailEnabled": False, "smsEnabled": None},
        {"emailEnabled": None, "smsEnabled": None},
        {"emailEnabled": None, "smsEnabled": False},
    ],
    ids=str,
)
def test_people_are_notified_by_mail_or_sms(
    places: dict[str, ConfigPath], name: str, chosen: dict[str, Any]
) -> None:
    answer = places["global"].post({**shortest(name), **chosen})
    if name not in {"GROUP", "ORG"} and chosen["emailEnabled"] is None:
        assert answer.status_code == 201
    else:
        assert faults(answer) == [("notifications[0].emailEnabled", "EMAIL_OR_SMS_REQUIRED")]


@each(
    ("sent", "field", "code"),
    [
        (shortest("GROUP", roles=["ORG_OWNER"]), "roles[0]", "INVALID_ENUM_VALUE"),
        (shortest("ORG", roles=["ORG_OWNER", "GROUP_OWNER"]), "roles[1]", "INVALID_ENUM_VALUE"),
        (shortest("GROUP", roles=["GLOBAL_OWNER"]), "roles[0]", "INVALID_ENUM_VALUE"),
        (shortest("GROUP", roles="GROUP_OWNER"), "roles", "INVALID_ATTRIBUTE"),
        (shortest("GROUP", roles=["GROUP_OWNER"] * 2), "roles[1]", "INVALID_ATTRIBUTE"),
        (shortest("GROUP", emailEnabled="true"), "emailEnabled", "INVALID_ATTRIBUTE"),
        (shortest("USER", username="nobody@example.com"), "username", "INVALID_ATTRIBUTE"),
        (shortest("USER", username="a\x01b"), "username", "INVALID_ATTRIBUTE"),
        (shortest("USER", username=5), "username", "INVALID_ATTRIBUTE"),
        (shortest("TEAM", teamId="a" * 24), "teamId", "INVALID_ATTRIBUTE"),
        (shortest("TEAM", teamId="on call"), "teamId", "INVALID_ATTRIBUTE"),
        (shortest("TEAM", teamName="off call"), "teamName", "ATTRIBUTE_READ_ONLY"),
        (shortest("SMS", mobileNumber="call me"), "mobileNumber", "INVALID_ATTRIBUTE"),
        (shortest("SMS", mobileNumber="1234"), "mobileNumber", "INVALID_ATTRIBUTE"),
        (shortest("SMS", mobileNumber="+" + "1" * 16), "mobileNumber", "INVALID_ATTRIBUTE"),
        (shortest("EMAIL", emailAddress="ada"), "emailAddress", "INVALID_EMAIL_ADDRESS"),
        (shortest("EMAIL", emailEnabled=1), "emailEnabled", "INVALID_ATTRIBUTE"),
        (shortest("OPS_ALERT_SERVICE", opsAlertRegion="MARS"), "opsAlertRegion", "INVALID_ENUM_VALUE"),
        (shortest("PAGER_SERVICE", serviceKey=""), "serviceKey", "INVALID_ATTRIBUTE"),
        (shortest("CHAT_SERVICE", channelName="x" * 201), "channelName", "INVALID_ATTRIBUTE"),
        (
            shortest("TEAM_CHAT_SERVICE", teamChatWebhookUrl="ftp://x/"),
            "teamChatWebhookUrl",
            "INVALID_ATTRIBUTE",
        ),
        (shortest("PAGER_SERVICE", intervalMin=4), "intervalMin", "NOTIFICATION_INTERVAL_OUT_OF_RANGE"),
        ({"typeName": ["EMAIL"]}, "typeName", "INVALID_ATTRIBUTE"),
        ({"typeName": "PIGEON", "apiToken": "x"}, "typeName", "INVALID_ENUM_VALUE"),
        ({"apiToken": "x"}, "typeName", "MISSING_ATTRIBUTE"),
    ],
    ids=str,
)
def test_a_wrong_value_is_named(place: ConfigPath, sent: dict[str, Any], field: str, code: str) -> None:
    assert faults(place.post(shortest("EMAIL"), sent)) == [(f"notifications[1].{field}", code)]
    assert not AlertConfig.objects.exists()


def test_what_is_no_object_is_named(place: ConfigPath) -> None:
    answer = place.post(shortest("EMAIL"), "EMAIL", None)  # type: ignore[arg-type]  # on purpose
    assert [field for field, _ in faults(answer)] == ["notifications[1]", "notifications[2]"]


def test_every_fault_is_named_at_once(place: ConfigPath) -> None:
    answer = place.post(
        shortest("GROUP"),
        shortest("GROUP", roles=["NOPE"], delayMin=-1),
        shortest("CHAT_SERVICE", apiToken=None, channelName=None),
        {"typeName": "PIGEON", "intervalMin": 1},
    )
    assert [field["field"].removeprefix("notifications") for field in answer.json()["badFields"]] == [
        "",
        "[1].delayMin",
        "[1].roles[0]",
        "[2].apiToken",
        "[2].channelName",
        "[3].typeName",
        "[3].intervalMin",
    ]


def test_people_of_other_organizations_are_as_unknown_as_nobody(places: dict[str, ConfigPath]) -> None:
    elsewhere = ProjectFactory.create()
    UserFactory.create(username="roleless@example.com")
    team = make_team(elsewhere, UserFactory.create(username="eve@example.com"))
    for username in ("eve@example.com", "roleless@example.com"):
        theirs = places["project"].post(shortest("USER", username=username)).json()
        nobodys = places["project"].post(shortest("USER", username="nobody@example.com")).json()
        assert theirs == nobodys
    theirs = places["project"].post(shortest("TEAM", teamId=team.id)).json()
    assert theirs == places["project"].post(shortest("TEAM", teamId="a" * 24)).json()
    both = (shortest("USER", username="eve@example.com"), shortest("TEAM", teamId=team.id))
    assert places["global"].post(*both).status_code == 201


def test_a_user_is_named_as_they_spell_themselves(place: ConfigPath) -> None:
    made = place.post(shortest("USER", username=bodies.COLLEAGUE.upper())).json()
    assert made["notifications"][0]["username"] == bodies.COLLEAGUE


@each("number", ["+12025550100", "(202) 555-0100", "2025550100", "+44 20 7946.0958", "12345"])
def test_numbers_are_taken_as_people_write_them(place: ConfigPath, number: str) -> None:
    made = place.post(shortest("SMS", mobileNumber=number)).json()
    assert made["notifications"][0]["mobileNumber"] == number


def test_a_team_has_the_name_it_has_now(place: ConfigPath) -> None:
    made = place.post(shortest("TEAM", teamName="on call")).json()
    assert made["notifications"][0]["teamName"] == "on call"
    Team.objects.update(name="at night")
    assert place.get(made)["notifications"][0]["teamName"] == "at night"
    Team.objects.all().delete()
    assert "teamName" not in place.get(made)["notifications"][0]


@each(("kind", "names"), EVERYWHERE)
def test_what_was_read_can_be_written_back(
    places: dict[str, ConfigPath], kind: str, names: list[str]
) -> None:
    made = places[kind].post(*map(longest, names), shortest("EMAIL")).json()
    rows, events = list(NotificationSetting.objects.values()), Event.objects.count()
    assert places[kind].put(made, *made["notifications"]).json() == made
    assert (list(NotificationSetting.objects.values()), Event.objects.count()) == (rows, events)


def test_deleted_recipients_can_be_written_back(place: ConfigPath, project: Project) -> None:
    made = place.post(shortest("USER"), shortest("TEAM")).json()
    Team.objects.all().delete()
    UserFactory._meta.model.objects.filter(username=bodies.COLLEAGUE).delete()
    read = place.get(made)
    assert place.put(read, *read["notifications"]).json() == read
    answer = place.put(read, *read["notifications"], shortest("USER", username="nobody@example.com"))
    assert faults(answer) == [("notifications[2].username", "INVALID_ATTRIBUTE")]
