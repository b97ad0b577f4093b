"""Integrations of a project: endpoints 12 to 14, and writing them."""

from typing import Any

import pytest

from accesslist.models import Project
from integrations.credentials.changes import integration_put, integrations_purge
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.integrations import make_integration

PAGER = "0123456789abcdef0123456789abcdef"
NAMES = list(INTEGRATION_TYPES)
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's integrations are."""
    return f"/groups/{project.id}/integrations"


@pytest.fixture
def monitor(project: Project) -> ApiClient:
    """The lowest role that may write them."""
    return ApiClient(make_key(Grant(Role.GROUP_MONITORING_ADMIN, group_id=project.id)))


def example(name: str) -> dict[str, Any]:
    """An integration as it is sent."""
    return dict(INTEGRATION_TYPES[name].example)


def refusal(answer: Any) -> tuple[int, str, list[str]]:
    """Status, code, and the wrong fields."""
    document = answer.json()
    return answer.status_code, document["errorCode"], [bad["field"] for bad in document.get("badFields", [])]


@pytest.mark.slow
@each("name", NAMES)
@each("method", ["POST", "PUT"])
def test_an_integration_of_every_type_is_created_read_and_deleted(
    monitor: ApiClient, reader: ApiClient, path: str, name: str, method: str
) -> None:
    made = monitor.request(method, f"{path}/{name}", example(name))
    assert made.status_code == {"POST": 201, "PUT": 200}[method]
    shown = INTEGRATION_TYPES[name].shown(example(name))
    assert made.json() == {
        "type": name,
        **shown,
        "links": [
            {"href": f"http://testserver/api/public/v1.0{path}/{name}", "rel": "self"},
            {
                "href": f"http://testserver/api/public/v1.0{path}".removesuffix("/integrations"),
                "rel": "urn:opsapi:rel:group",
            },
        ],
    }
    assert reader.get(f"{path}/{name}").json() == made.json()
    (listed,) = reader.get(path).json()["results"]
    assert listed == {**made.json(), "links": made.json()["links"][:1]}
    assert monitor.delete(f"{path}/{name}").status_code == 204
    assert refusal(reader.get(f"{path}/{name}"))[:2] == (404, "INTEGRATION_NOT_CONFIGURED")


def test_the_samples_of_the_contract(owner: ApiClient, path: str) -> None:
    pager = owner.post(f"{path}/PAGER_SERVICE", {"serviceKey": PAGER}).json()
    chat = {"apiToken": "xoxb-token-7890", "channelName": "ops", "teamName": "dba"}
    assert owner.put(f"{path}/CHAT_SERVICE", chat).json()["apiToken"] == "******7890"
    assert {name: pager[name] for name in ("type", "serviceKey")} == {
        "type": "PAGER_SERVICE",
        "serviceKey": "******cdef",
    }
    document = owner.get(path).json()
    assert [row["type"] for row in document["results"]] == ["PAGER_SERVICE", "CHAT_SERVICE"]
    assert list(document["results"][1]) == ["type", "apiToken", "channelName", "teamName", "links"]
    assert document["totalCount"] == 2


def test_what_is_left_out_has_its_default(owner: ApiClient, path: str) -> None:
    shown = owner.post(f"{path}/SCRAPER", bodies.scraper(enabled=None)).json()
    expected = {"scheme": "http", "serviceDiscovery": "http", "enabled": True}
    assert {name: shown[name] for name in expected} == expected
    assert (shown["password"], shown["listenAddress"]) == ("******", "0.0.0.0:9216")


def test_there_is_one_of_a_type(owner: ApiClient, path: str) -> None:
    made = owner.post(f"{path}/PAGER_SERVICE", {"serviceKey": PAGER})
    again = owner.post(f"{path}/PAGER_SERVICE", {"serviceKey": "another-key"})
    assert refusal(again)[:2] == (409, "INTEGRATION_ALREADY_CONFIGURED")
    assert again.json()["parameters"] == ["PAGER_SERVICE", path.split("/")[2]]
    assert owner.get(f"{path}/PAGER_SERVICE").json() == made.json()


def test_two_projects_have_one_each(owner: ApiClient, project: Project, path: str) -> None:
    other = ProjectFactory.create()
    make_integration(other, "PAGER_SERVICE", serviceKey="the-others-key")
    assert refusal(owner.get(f"{path}/PAGER_SERVICE"))[:2] == (404, "INTEGRATION_NOT_CONFIGURED")
    assert refusal(owner.delete(f"{path}/PAGER_SERVICE"))[:2] == (404, "INTEGRATION_NOT_CONFIGURED")
    assert owner.get(path).json()["results"] == []
    assert owner.post(f"{path}/PAGER_SERVICE", {"serviceKey": PAGER}).status_code == 201
    assert owner.get(f"/groups/{other.id}/integrations").json()["totalCount"] == 1


def test_a_put_replaces_all_of_it(owner: ApiClient, path: str) -> None:
    owner.post(f"{path}/CHAT_SERVICE", example("CHAT_SERVICE"))
    owner.put(f"{path}/CHAT_SERVICE", {"apiToken": "xoxb-token-7890", "channelName": "ops"})
    shown = owner.get(f"{path}/CHAT_SERVICE").json()
    assert {name for name in shown if name != "links"} == {"type", "apiToken", "channelName"}
    assert (shown["apiToken"], shown["channelName"]) == ("******7890", "ops")


@each("method", ["POST", "PUT"])
@each("named", ["PAGER_SERVICE", None])
def test_the_body_may_name_the_type_of_the_path(
    owner: ApiClient, path: str, method: str, named: str | None
) -> None:
    answer = owner.request(method, f"{path}/PAGER_SERVICE", {"type": named, "serviceKey": PAGER})
    assert answer.status_code < 300


@each("method", ["POST", "PUT"])
@each("named", ["CHAT_SERVICE", "pager_service", "", 5])
def test_the_body_must_not_name_another_type(owner: ApiClient, path: str, method: str, named: Any) -> None:
    answer = owner.request(method, f"{path}/PAGER_SERVICE", {"type": named, "serviceKey": PAGER})
    assert refusal(answer) == (400, "ATTRIBUTE_READ_ONLY", ["type"])
    assert not Integration.objects.exists()


def test_every_wrong_field_is_named_at_once(owner: ApiClient, path: str) -> None:
    wrong = {"type": "WEBHOOK", "password": "short", "enabled": 1, "scheme": "ftp", "apiToken": "x"}
    answer = owner.put(f"{path}/SCRAPER", wrong)
    assert refusal(answer) == (
        400,
        "ATTRIBUTE_READ_ONLY",
        ["type", "username", "password", "scheme", "enabled", "apiToken"],
    )
    scheme = next(bad for bad in answer.json()["badFields"] if bad["field"] == "scheme")
    assert scheme["allowed"] == ["http", "https"]


@each("name", ["pager_service", "PAGER", "EMAIL", "PAGER_SERVICE%20", "%C5%BFCRAPER"])
def test_what_is_no_type_is_404_before_the_role(path: str, name: str) -> None:
    nobody = ApiClient(make_key())
    for method in ("GET", "POST", "PUT", "DELETE"):
        answer = nobody.request(method, f"{path}/{name}", {} if method in {"POST", "PUT"} else None)
        assert refusal(answer)[:2] == (404, "INVALID_INTEGRATION_TYPE")


def test_a_deletion_takes_paging_parameters_in_its_stride(owner: ApiClient, path: str) -> None:
    owner.post(f"{path}/PAGER_SERVICE", {"serviceKey": PAGER})
    refused = owner.delete(f"{path}/PAGER_SERVICE?pageNum=0")
    assert refusal(refused) == (400, "INVALID_QUERY_PARAMETER", ["pageNum"])
    assert owner.delete(f"{path}/PAGER_SERVICE?pageNum=9&itemsPerPage=1&envelope=true").status_code == 204


def test_nothing_is_integrated_with_a_project_that_was_deleted_meanwhile(
    owner: ApiClient, path: str, project: Project
) -> None:
    owner.delete(f"/groups/{project.id}")
    assert refusal(owner.put(f"{path}/PAGER_SERVICE", {"serviceKey": PAGER}))[:2] == (404, "GROUP_NOT_FOUND")
    with pytest.raises(ApiError, match="GROUP_NOT_FOUND"):
        integration_put(
            group_id=project.id,
            integration_type="PAGER_SERVICE",
            read=lambda _: {"serviceKey": PAGER},
            actor=SYSTEM,
            now=clock.now(),
        )
    assert not Integration.objects.exists()


def test_rows_of_a_deleted_project_go_a_batch_at_a_time(project: Project) -> None:
    other = make_integration(ProjectFactory.create())
    for integration_type in list(INTEGRATION_TYPES)[:3]:
        make_integration(project, integration_type)
    assert [integrations_purge(group_id=project.id, limit=2) for _ in range(3)] == [2, 1, 0]
    assert list(Integration.objects.all()) == [other]
