"""Refusals name what was sent and what is allowed; matchers that can never match are refused."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import AlertConfig
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import make_team

TYPES = ["ARBITER", "CONFIG", "MONGOS", "NO_DATA", "PRIMARY", "RECOVERING", "SECONDARY", "STANDALONE"]
NEVER = {"TYPE_NAME": ("INVALID_ENUM_VALUE", TYPES), "PORT": ("INVALID_ATTRIBUTE", ["1 to 65535"])}
"""Code and allowed values of a matcher that can never hold."""
pytestmark = pytest.mark.django_db


def matched(field: str, operator: str, value: str) -> dict[str, Any]:
    """A configuration with that matcher."""
    return bodies.alert_config(matchers=[{"fieldName": field, "operator": operator, "value": value}])


class TestQueryParameters:
    """What was sent is in the answer."""

    def test_an_unknown_metric_is_named(self, owner: ApiClient, project: Project) -> None:
        host = owner.post(f"/groups/{project.id}/hosts", bodies.new_host()).json()["id"]
        answer = owner.get(
            f"/groups/{project.id}/hosts/{host}/measurements?granularity=PT1M&period=PT1H&m=FOO&m=BAR&m=CONNECTIONS"
        )
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_METRIC_NAME")
        assert '"FOO", "BAR"' in answer.json()["detail"]
        assert "CONNECTIONS" not in answer.json()["detail"]
        (bad,) = answer.json()["badFields"]
        assert '"FOO", "BAR"' in bad["message"]
        assert "CONNECTIONS" in bad["allowed"]

    @each("query", ["pageNum=0", "envelope=0", "name="])
    def test_any_other_is_named_too(self, owner: ApiClient, query: str) -> None:
        answer = owner.get(f"/groups?{query}")
        assert f'"{query.partition("=")[2]}"' in answer.json()["detail"]

    def test_long_and_many_values_are_cut(self, owner: ApiClient) -> None:
        wrong = "&".join(f"eventType={number}{'x' * 60}" for number in range(100))
        answer = owner.get(f"/globalEvents?{wrong}")
        (bad,) = answer.json()["badFields"]
        assert bad["message"].count("xxx…") == 3
        assert "97 more" in bad["message"]


class TestNotifications:
    """intervalMin."""

    @each("interval", [4, 525_601])
    def test_both_ends_of_the_interval_are_said(
        self, owner: ApiClient, project: Project, interval: int
    ) -> None:
        sent = bodies.alert_config(notifications=[bodies.email(intervalMin=interval)])
        answer = owner.post(f"/groups/{project.id}/alertConfigs", sent)
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "NOTIFICATION_INTERVAL_OUT_OF_RANGE")
        for said in (answer.json()["detail"], answer.json()["badFields"][0]["message"]):
            assert "5" in said
            assert "525600" in said


class TestMatchers:
    """On what has few enough values to know that none of them matches."""

    @each(
        ("field", "operator", "value"),
        [
            ("TYPE_NAME", "EQUALS", "REPLICA_PRIMARY"),
            ("TYPE_NAME", "EQUALS", "primary"),
            ("TYPE_NAME", "STARTS_WITH", "SHARD_"),
            ("TYPE_NAME", "ENDS_WITH", "PRIM"),
            ("TYPE_NAME", "CONTAINS", "X"),
            ("TYPE_NAME", "REGEX", "^REPLICA"),
            ("PORT", "EQUALS", "http"),
            ("PORT", "EQUALS", "65536"),
            ("PORT", "EQUALS", "027017"),
            ("PORT", "STARTS_WITH", "0"),
            ("PORT", "ENDS_WITH", "27017 "),
            ("PORT", "CONTAINS", ":27017"),
            ("PORT", "CONTAINS", "99999"),
            ("PORT", "REGEX", "^(7|8)\\d{4}$"),
            ("PORT", "REGEX", "[a-z]"),
        ],
    )
    def test_one_that_can_never_hold_is_refused(
        self, owner: ApiClient, project: Project, field: str, operator: str, value: str
    ) -> None:
        answer = owner.post(f"/groups/{project.id}/alertConfigs", matched(field, operator, value))
        code, allowed = NEVER[field]
        assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
        (bad,) = answer.json()["badFields"]
        assert (bad["field"], bad["allowed"]) == ("matchers[0].value", allowed)

    @each(
        ("field", "operator", "value"),
        [
            *(("TYPE_NAME", "EQUALS", value) for value in TYPES),
            ("TYPE_NAME", "NOT_EQUALS", "X"),
            ("TYPE_NAME", "NOT_CONTAINS", "X"),
            ("TYPE_NAME", "REGEX", "^(PRIM|SECOND)ARY$"),
            ("PORT", "EQUALS", "1"),
            ("PORT", "EQUALS", "65535"),
            ("PORT", "NOT_EQUALS", "http"),
            ("PORT", "NOT_CONTAINS", "x"),
            ("PORT", "STARTS_WITH", "65535"),
            ("PORT", "ENDS_WITH", "0"),
            ("PORT", "CONTAINS", "5535"),
            ("PORT", "REGEX", "^2701[789]$"),
            ("PORT", "REGEX", "\\A65535\\z"),
            ("PORT", "REGEX", "(?-m)^27017$"),
            ("PORT", "REGEX", "27017|" + "x" * 990),
            ("HOSTNAME", "EQUALS", "no such"),
        ],
    )
    def test_one_that_can_hold_is_taken(
        self, owner: ApiClient, project: Project, field: str, operator: str, value: str
    ) -> None:
        answer = owner.post(f"/groups/{project.id}/alertConfigs", matched(field, operator, value))
        assert answer.status_code == 201, answer.json()

    def test_one_that_is_stored_can_be_written_back(self, owner: ApiClient, project: Project) -> None:
        made = owner.post(
            f"/groups/{project.id}/alertConfigs", matched("TYPE_NAME", "EQUALS", "PRIMARY")
        ).json()
        older = [{**made["matchers"][0], "value": "REPLICA_PRIMARY"}]
        AlertConfig.objects.filter(id=made["id"]).update(matchers=older)
        path = f"/groups/{project.id}/alertConfigs/{made['id']}"
        shown = owner.get(path).json()
        assert shown["matchers"] == older
        assert owner.put(path, shown).status_code == 200
        assert owner.put(path, {**shown, "enabled": False}).status_code == 200
        changed = [{**older[0], "value": "SHARD_PRIMARY"}]
        assert owner.put(path, {**shown, "matchers": changed}).status_code == 400


class TestUnits:
    """Units that no metric has are nowhere among the allowed ones."""

    def test_bits_are_not_allowed_where_no_metric_has_bits(self, owner: ApiClient, project: Project) -> None:
        configs = f"/groups/{project.id}/alertConfigs"
        (bad,) = owner.post(configs, bodies.metric_config(units="FURLONGS")).json()["badFields"]
        assert {"RAW", "BYTES", "SECONDS"} <= set(bad["allowed"])
        assert not [unit for unit in bad["allowed"] if unit.endswith("BITS")]
        answer = owner.post(configs, bodies.metric_config(units="BITS"))
        assert answer.json()["errorCode"] == "UNITS_MISMATCH"
        assert answer.json()["badFields"][0]["allowed"] == ["RAW"]


class TestNames:
    """A name that clients take out of a path."""

    @each("name", [".", ".."])
    @each("below", ["/groups", "/orgs", "/orgs/{}/teams"])
    def test_a_dot_segment_is_no_name(
        self, owner: ApiClient, project: Project, below: str, name: str
    ) -> None:
        sent = {"name": name, **({"usernames": []} if below.endswith("teams") else {})}
        made = owner.post(below.format(project.org_id), sent)
        assert (made.status_code, made.json()["errorCode"]) == (400, "INVALID_ATTRIBUTE")
        assert made.json()["badFields"][0]["field"] == "name"

    def test_nothing_is_renamed_to_one(self, owner: ApiClient, project: Project) -> None:
        team = make_team(project)
        for path in (
            f"/groups/{project.id}",
            f"/orgs/{project.org_id}",
            f"/orgs/{project.org_id}/teams/{team.id}",
        ):
            assert owner.patch(path, {"name": ".."}).status_code == 400
            assert owner.patch(path, {"name": "..."}).status_code == 200
