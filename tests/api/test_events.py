"""Events: single events (endpoints 17 and 18) and lists (endpoint 19, a project's, an organization's)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from accesslist.models import Project
from events.facts import EventFacts
from events.log.changes import event_record
from events.types import EVENT_TYPES, EventType
from opsapi.api.paging import DeferredRows
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.ids import new_id
from tests.api import bodies
from tests.api.routes import OF_NOTHING
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.integration.alerting.pipeline import evaluate

NOON = datetime(2026, 11, 21, 12, 0, 0, 999_999, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def record(event_type: EventType, created: datetime = NOON, **options: Any) -> str:
    """The id of an event that happened then."""
    with transaction.atomic():
        event = event_record(
            event_type=event_type, now=created, **{"actor": SYSTEM, "signals": False, **options}
        )
    return event.id


def shown(client: ApiClient, query: str = "", path: str = "/globalEvents") -> list[str]:
    """The ids of a list, in its order."""
    return [row["id"] for row in client.get(f"{path}?{query}").json()["results"]]


@pytest.fixture
def three(db: None) -> list[str]:
    """Three events, a second apart, the oldest first."""
    types = (EventType.HOST_DOWN, EventType.HOST_UP, EventType.USER_CREATED_AUDIT)
    return [record(event_type, NOON + timedelta(seconds=place)) for place, event_type in enumerate(types)]


def test_a_value_however_large_leaves_the_log_and_the_alerts_readable(
    agent: ApiClient, owner: ApiClient, reader: ApiClient, project: Project
) -> None:
    of_project = f"/groups/{project.id}"
    owner.post(f"{of_project}/alertConfigs", bodies.metric_config())
    measured = [{"metricName": "CONNECTIONS", "number": 1e22}]
    agent.report(project.id, bodies.report(bodies.host(measurements=measured)))
    evaluate()
    (alert,) = reader.get(f"{of_project}/alerts").json()["results"]
    value = {"number": 1e22, "units": "RAW"}
    assert alert["currentValue"] == value
    for caller, path in ((reader, f"{of_project}/events"), (owner, "/globalEvents")):
        listed = caller.get(f"{path}?eventType=OUTSIDE_METRIC_THRESHOLD").json()["results"]
        assert [event["currentValue"] for event in listed] == [value]


def test_events_come_newest_first_id_as_tie_break(owner: ApiClient, three: list[str]) -> None:
    again = record(EventType.HOST_DOWN)
    assert shown(owner) == [three[2], three[1], again, three[0]]


@each(
    ("query", "places"),
    [
        ("minDate=2026-11-21T12:00:00Z", [2, 1, 0]),
        ("minDate=2026-11-21T12:00:01Z", [2, 1]),
        ("maxDate=2026-11-21T12:00:00Z", [0]),
        ("maxDate=2026-11-21T12:00:01.5Z", [1, 0]),
        ("maxDate=2026-11-21T11:59:59Z", []),
        ("minDate=2026-11-21T13:00:01%2B01:00&maxDate=2026-11-21T12:00:01", [1]),
        ("minDate=2026-11-21", [2, 1, 0]),
        ("maxDate=2026-11-21", [2, 1, 0]),
        ("minDate=2026-11-22", []),
        ("maxDate=2026-11-20", []),
        ("minDate=2026-11-21&maxDate=2026-11-21", [2, 1, 0]),
        ("minDate=0001-01-01&maxDate=9999-12-31", [2, 1, 0]),
        ("eventType=HOST_DOWN", [0]),
        ("eventType=HOST_DOWN&eventType=HOST_UP", [1, 0]),
        ("eventType=HOST_RESTARTED", []),
        ("eventType=HOST_UP&minDate=2026-11-21T12:00:02Z", []),
    ],
)
def test_filters_are_of_whole_seconds_and_both_ends_count(
    owner: ApiClient, three: list[str], query: str, places: list[int]
) -> None:
    assert shown(owner, query) == [three[place] for place in places]


@each(
    ("query", "field", "code"),
    [
        ("eventType=NOPE", "eventType", "INVALID_ENUM_VALUE"),
        ("eventType=host_down", "eventType", "INVALID_ENUM_VALUE"),
        ("eventType=HOST_UP&eventType=", "eventType", "INVALID_ENUM_VALUE"),
        ("minDate=yesterday", "minDate", "INVALID_QUERY_PARAMETER"),
        ("minDate=", "minDate", "INVALID_QUERY_PARAMETER"),
        ("maxDate=2026-02-29", "maxDate", "INVALID_QUERY_PARAMETER"),
        ("minDate=2026-11-22&maxDate=2026-11-21", "minDate", "INVALID_QUERY_PARAMETER"),
        ("minDate=2026-11-21T12:00:01Z&maxDate=2026-11-21T12:00:00Z", "minDate", "INVALID_QUERY_PARAMETER"),
        ("before=", "before", "INVALID_QUERY_PARAMETER"),
        ("before=x", "before", "INVALID_QUERY_PARAMETER"),
        (f"before={OF_NOTHING}", "before", "INVALID_QUERY_PARAMETER"),
        (f"before={OF_NOTHING.upper()}", "before", "INVALID_QUERY_PARAMETER"),
    ],
)
def test_a_wrong_filter_is_named(
    owner: ApiClient, project: Project, query: str, field: str, code: str
) -> None:
    for path in ("/globalEvents", f"/groups/{project.id}/events"):
        answer = owner.get(f"{path}?{query}")
        assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
        assert answer.json()["badFields"][0]["field"] == field


@each(
    ("place", "query", "places"),
    [
        (2, "", [1, 0]),
        (1, "", [0]),
        (0, "", []),
        (2, "eventType=HOST_DOWN", [0]),
        (2, "eventType=USER_CREATED_AUDIT", []),
        (2, "minDate=2026-11-21T12:00:01Z", [1]),
        (2, "maxDate=2026-11-21T12:00:00Z", [0]),
    ],
)
def test_before_goes_on_after_an_event_whatever_is_filtered(
    owner: ApiClient, three: list[str], place: int, query: str, places: list[int]
) -> None:
    document = owner.get(f"/globalEvents?before={three[place]}&{query}").json()
    assert [row["id"] for row in document["results"]] == [three[place] for place in places]
    assert document["totalCount"] == len(places)


def test_before_separates_events_of_one_moment(owner: ApiClient) -> None:
    made = [record(EventType.HOST_DOWN) for _ in range(3)]
    assert shown(owner, f"before={made[1]}") == [made[0]]


@each(("page", "places", "rels"), [(1, [1], ["self", "next"]), (2, [0], ["self", "previous"])])
def test_pages_with_before_are_pages_of_the_remainder(
    owner: ApiClient, three: list[str], page: int, places: list[int], rels: list[str]
) -> None:
    document = owner.get(f"/globalEvents?before={three[2]}&itemsPerPage=1&pageNum={page}").json()
    assert [row["id"] for row in document["results"]] == [three[place] for place in places]
    assert (document["totalCount"], [link["rel"] for link in document["links"]]) == (2, rels)
    assert all(f"before={three[2]}" in link["href"] for link in document["links"])


def test_before_an_event_of_another_project_is_refused(owner: ApiClient, project: Project) -> None:
    foreign = record(EventType.GROUP_CREATED, group_id=ProjectFactory.create().id)
    answer = owner.get(f"/groups/{project.id}/events?before={foreign}")
    assert (answer.status_code, answer.json()["badFields"][0]["field"]) == (400, "before")


@pytest.mark.parametrize("size", [1, 2, 500])
def test_far_down_a_list_is_read_as_at_its_start(
    owner: ApiClient, three: list[str], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    pages = [
        f"eventType=HOST_DOWN&eventType=HOST_UP&itemsPerPage={size}&pageNum={page}" for page in (1, 2, 3)
    ]
    near = [owner.get(f"/globalEvents?{query}").json() for query in pages]
    monkeypatch.setattr(DeferredRows, "FAR", 0)
    assert [owner.get(f"/globalEvents?{query}").json() for query in pages] == near


def test_a_refused_type_lists_all_types(owner: ApiClient) -> None:
    (bad,) = owner.get("/globalEvents?eventType=NOPE").json()["badFields"]
    types = [row["eventTypeName"] for row in owner.get("/eventTypes?itemsPerPage=500").json()["results"]]
    assert bad["allowed"] == types == [spec.name for spec in EVENT_TYPES.values()]


@each("flag", ["x", "", "1"])
def test_include_raw_is_true_or_false(owner: ApiClient, project: Project, flag: str) -> None:
    event_id = record(EventType.GROUP_CREATED, group_id=project.id)
    for path in ("", f"/{event_id}"):
        answer = owner.get(f"/groups/{project.id}/events{path}?includeRaw={flag}")
        assert (answer.status_code, answer.json()["badFields"][0]["field"]) == (400, "includeRaw")


def test_raw_is_there_only_when_asked_for(owner: ApiClient, project: Project) -> None:
    event_id = record(EventType.GROUP_CREATED, group_id=project.id)
    for path in ("", f"/{event_id}"):
        for flag, there in (("", False), ("?includeRaw=false", False), ("?includeRaw=TRUE", True)):
            document = owner.get(f"/groups/{project.id}/events{path}{flag}").json()
            assert ("raw" in document.get("results", [document])[0]) is there


def test_a_project_event_always_has_diffs_and_a_global_one_never(owner: ApiClient, project: Project) -> None:
    event_id = record(EventType.GROUP_CREATED, group_id=project.id)
    assert owner.get(f"/groups/{project.id}/events/{event_id}").json()["diffs"] == []
    shown_globally = owner.get(f"/globalEvents/{event_id}?includeRaw=true").json()
    assert not {"diffs", "raw"} & set(shown_globally)


def test_a_change_shows_what_was_and_what_is(owner: ApiClient, project: Project) -> None:
    made = owner.post(f"/groups/{project.id}/alertConfigs", bodies.alert_config()).json()
    (event,) = owner.get(f"/groups/{project.id}/events?eventType=ALERT_CONFIG_ADDED_AUDIT").json()["results"]
    (diff,) = event["diffs"]
    assert (diff["id"], diff["type"], diff["status"]) == (made["id"], "ALERT_CONFIG", "NEW")
    params = {param["param"]: param for param in diff["params"]}
    assert params["eventTypeName"] == {
        "param": "eventTypeName",
        "display": "eventTypeName",
        "new": "HOST_DOWN",
    }
    assert params["enabled"]["new"] == "true"
    assert event["alertConfigId"] == made["id"]


def test_secrets_are_redacted_in_diffs_and_raw(owner: ApiClient, project: Project) -> None:
    config = bodies.alert_config(notifications=[bodies.webhook()])
    made = owner.post(f"/groups/{project.id}/alertConfigs", config).json()
    owner.delete(f"/groups/{project.id}/alertConfigs/{made['id']}")
    answer = owner.get(f"/groups/{project.id}/events?includeRaw=true")
    for event in answer.json()["results"]:
        (shown_config,) = [
            param for param in event["diffs"][0]["params"] if param["param"] == "notifications"
        ]
        assert '"webhookSecret":"******"' in (shown_config.get("old") or shown_config["new"])
    assert bodies.SECRET not in answer.content.decode()


def test_an_event_shows_every_fact_it_has(owner: ApiClient, project: Project) -> None:
    facts = EventFacts(
        hostname="db1", port=27017, metric_name="CONNECTIONS", current_value={"number": 5.5, "units": "RAW"}
    )
    event_id = record(EventType.OUTSIDE_METRIC_THRESHOLD, group_id=project.id, alert_id=new_id(), facts=facts)
    document = owner.get(f"/globalEvents/{event_id}").json()
    assert document["created"] == "2026-11-21T12:00:00Z"
    assert document["port"] == 27017
    assert document["currentValue"] == {"number": 5.5, "units": "RAW"}
    assert [link["rel"] for link in document["links"]] == ["self", "urn:opsapi:rel:group"]
    assert not {"isGlobalAdmin", "remoteAddress", "userId", "apiKeyId", "orgId"} & set(document)


@each(
    ("kind", "there", "absent"),
    [
        (ActorKind.KEY, {"apiKeyId", "publicKey"}, {"userId", "username"}),
        (ActorKind.AGENT, {"apiKeyId", "publicKey"}, {"userId", "username"}),
        (ActorKind.USER, {"userId", "username"}, {"apiKeyId", "publicKey"}),
    ],
)
def test_a_key_excludes_a_user_and_the_reverse(
    owner: ApiClient, kind: ActorKind, there: set[str], absent: set[str]
) -> None:
    actor = Actor(kind, new_id(), "someone", False, "192.0.2.7")
    document = owner.get(f"/globalEvents/{record(EventType.USER_CREATED_AUDIT, actor=actor)}").json()
    assert there <= set(document)
    assert not absent & set(document)
    assert (document["isGlobalAdmin"], document["remoteAddress"]) == (False, "192.0.2.7")


def test_a_project_shows_its_own_events_alone(owner: ApiClient, reader: ApiClient, project: Project) -> None:
    own = record(EventType.GROUP_CREATED, group_id=project.id)
    foreign = record(EventType.GROUP_CREATED, group_id=ProjectFactory.create().id)
    path = f"/groups/{project.id}/events"
    assert shown(reader, path=path) == [own]
    assert reader.get(f"{path}/{foreign}").json()["errorCode"] == "EVENT_NOT_FOUND"
    assert sorted(shown(owner)) == sorted([own, foreign])


def test_in_a_list_an_event_links_to_itself_alone(owner: ApiClient, project: Project) -> None:
    event_id = record(EventType.GROUP_CREATED, group_id=project.id)
    for path in (f"/groups/{project.id}/events", "/globalEvents"):
        (link,) = owner.get(path).json()["results"][0]["links"]
        assert link == {"rel": "self", "href": f"http://testserver/api/public/v1.0{path}/{event_id}"}


def test_an_event_outlives_what_it_names(owner: ApiClient, project: Project) -> None:
    event_id = record(EventType.GROUP_CREATED, group_id=project.id)
    group_id = project.id
    project.delete()
    assert owner.get(f"/globalEvents/{event_id}").json()["groupId"] == group_id
