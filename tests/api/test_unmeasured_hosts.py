"""Hosts that are reachable and not measured, over the API."""

import pytest

from accesslist.models import Project
from automation.models import Host
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db
REFUSED = "password authentication failed for user ops"


@each(
    ("sent", "stored"),
    [
        (REFUSED, REFUSED),
        ("postgresql://ops:secret@db1/orders is refused", "postgresql://******@db1/orders is refused"),
        # The text is longer without its secrets.
        ("x://a@b " * 62, ("x://******@b " * 62)),
        ("a\nb", "a\nb"),
    ],
)
def test_the_problem_of_a_host_is_stored_without_secrets(
    agent: ApiClient, project: Project, sent: str, stored: str
) -> None:
    answer = agent.report(project.id, report(host(problem=sent)))
    assert answer.status_code == 202
    assert Host.objects.get().problem == stored


def test_the_newest_report_says_whether_there_is_a_problem(agent: ApiClient, project: Project) -> None:
    agent.report(project.id, report(host(problem=REFUSED)))
    agent.report(project.id, report(host()))
    assert Host.objects.get().problem is None
    agent.report(project.id, report(host(problem=REFUSED, reachable=False)))
    assert Host.objects.get().problem is None


def test_a_host_without_a_known_type_is_listed(agent: ApiClient, reader: ApiClient, project: Project) -> None:
    agent.report(project.id, report(host(typeName="NO_DATA", problem=REFUSED)))
    (found,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
    assert (found["typeName"], found["reachable"]) == ("NO_DATA", True)


def test_a_report_without_a_type_keeps_the_known_type(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    agent.report(project.id, report(host(typeName="REPLICA_PRIMARY", replicaSetName="rs0")))
    for said in ({"reachable": True, "problem": REFUSED}, {"reachable": False}):
        agent.report(project.id, report(host(typeName="NO_DATA", **said)))
        (found,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
        assert (found["typeName"], found["reachable"]) == ("REPLICA_PRIMARY", said["reachable"])
        assert found["replicaSetName"] == "rs0"
