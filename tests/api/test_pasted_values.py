"""Values that users paste: with spaces around, as a URL, in a different case."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import MaintenanceWindow
from integrations.credentials.store import integration_secrets
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES
from opsapi.outbound.client import _parse
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db


def put(owner: ApiClient, project: Project, name: str, **changes: Any) -> Any:
    example = {**INTEGRATION_TYPES[name].example, **changes}
    return owner.put(f"/groups/{project.id}/integrations/{name}", example)


def copied_fields() -> list[tuple[str, str]]:
    """Each key, token and similar value of the integrations."""
    return [
        (name, field.name)
        for name, kind in INTEGRATION_TYPES.items()
        for field in kind.fields
        if type(field.form).__name__ == "Copied"
    ]


def test_keys_and_tokens_are_copied_values() -> None:
    assert len(copied_fields()) >= 7


@each(("name", "field"), copied_fields())
def test_spaces_around_a_key_are_taken_off(owner: ApiClient, project: Project, name: str, field: str) -> None:
    plain = put(owner, project, name)
    assert plain.status_code in {200, 201}, plain.content
    value = INTEGRATION_TYPES[name].example[field]
    for pasted in (f" {value}", f"{value}\n", f"\t{value}\u00a0", f"\ufeff{value}\u200b"):
        again = put(owner, project, name, **{field: pasted})
        assert again.status_code in {200, 201}, again.content
        assert again.json()[field] == plain.json()[field]


@each(("name", "field"), copied_fields())
def test_spaces_inside_a_key_and_urls_are_refused(
    owner: ApiClient, project: Project, name: str, field: str
) -> None:
    for wrong, part in (("two words", "spaces"), ("https://example.com/key", "URL")):
        answer = put(owner, project, name, **{field: wrong})
        assert answer.status_code == 400, answer.content
        assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
        assert part in answer.json()["badFields"][0]["message"]
    assert not Integration.objects.exists()


def test_spaces_around_a_url_and_a_signing_secret_are_taken_off(owner: ApiClient, project: Project) -> None:
    url = "https://hooks.example.com/in/0123"
    assert put(owner, project, "WEBHOOK", url=f" {url}\n", secret=" two words ").status_code in {200, 201}
    assert integration_secrets(Integration.objects.get()) == {"url": url, "secret": "two words"}
    assert put(owner, project, "WEBHOOK", url="https://hooks.example.com/a b").status_code == 400


@each(
    ("url", "path"),
    [
        ("https://a.example.com/x?sig=a%2Bb%", "/x?sig=a%2Bb%"),
        ("https://a.example.com/x%2fy?c=%7b%zz#part", "/x%2fy?c=%7b%zz"),
        ("https://a.example.com/a/../b", "/a/../b"),
        ("https://a.example.com", "/"),
        ("https://a.example.com?x={y}", "/?x={y}"),
        ("https://a.example.com/a?b/c?d", "/a?b/c?d"),
    ],
)
def test_a_url_is_called_as_it_was_pasted(url: str, path: str) -> None:
    assert _parse(url).path == path


def test_a_pasted_rule_is_taken(owner: ApiClient, project: Project) -> None:
    recurrence = {"rrule": "RRULE:freq=weekly;byday=su", "timeZone": "europe/berlin"}
    dates = {"startDate": "2026-11-29T01:00:00Z", "endDate": "2026-11-29T03:00:00Z"}
    body = bodies.window(**dates, recurrence=recurrence)
    made = owner.post(f"/groups/{project.id}/maintenanceWindows", body)
    assert made.status_code == 200, made.content
    stored = {"rrule": "FREQ=WEEKLY;BYDAY=SU", "timeZone": "Europe/Berlin"}
    assert made.json()["recurrence"] == MaintenanceWindow.objects.get().recurrence == stored


def test_a_preview_has_the_hours_that_a_change_of_the_clock_leaves_off(
    owner: ApiClient, project: Project
) -> None:
    recurrence = {"rrule": "FREQ=DAILY;UNTIL=20991231", "timeZone": "Europe/Berlin"}
    dates = {"startDate": "2026-11-28T23:00:00Z", "endDate": "2026-11-29T23:00:00Z"}
    path = f"/groups/{project.id}/maintenanceWindows/preview"
    found = owner.post(path, bodies.window(**dates, recurrence=recurrence)).json()
    assert found["gaps"]
    dates["endDate"] = "2026-11-29T22:00:00Z"
    found = owner.post(path, bodies.window(**dates, recurrence=recurrence)).json()
    assert "gaps" not in found


def test_an_empty_array_is_named_as_empty(owner: ApiClient, project: Project) -> None:
    team = {"name": "on call", "usernames": []}
    answer = owner.post(f"/orgs/{project.org_id}/teams", team)
    assert answer.status_code == 400
    [bad] = answer.json()["badFields"]
    assert (bad["field"], bad["message"]) == ("usernames", "must have at least one item")
    absent = owner.post(f"/orgs/{project.org_id}/teams", {"name": "on call"})
    assert absent.json()["badFields"][0]["message"] == "is required"
