"""Secrets of the automation configuration: only callers who may publish it see them."""

import json
import logging
from typing import Any

import pytest

from accesslist.models import Project
from automation.models import AutomationRevision
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.automation import path, published, publisher
from tests.api.canary import spoilt
from tests.api.turns import agent, ask, asked, give, machine, measured, replica_set, taken
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import make_key
from tests.factories.documents import document, process

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db

NUMBER = 902384772
URL = f"https://ada:{bodies.SECRET}@restore.example.com/1?token={bodies.SECRET}"
SENT = document(
    version=0,
    agentVersion={"name": "1.0", "directoryUrl": URL},
    auth={"key": bodies.SECRET, "usersWanted": [{"user": "mms", "initPwd": bodies.SECRET}]},
    processes=[
        process(
            backupRestoreUrl=URL,
            args2_6={"security": {"clusterPassword": bodies.SECRET, "DB_PASS": NUMBER, "api_keys": [NUMBER]}},
        )
    ],
)
REDACTED = 9  # in `SENT`: two of them in each URL


def test_who_may_publish_sees_them(publisher: ApiClient, path: str) -> None:
    assert published(publisher, path, SENT) == {**SENT, "version": 1}
    assert publisher.get(path).json() == {**SENT, "version": 1}
    assert publisher.get(f"{path}/revisions/1").json() == {**SENT, "version": 1}


def test_readers_without_the_role_see_none(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, SENT)
    text = (
        json.dumps(SENT).replace(bodies.SECRET, f"{bodies.SECRET}-changed").replace(f"{NUMBER}", f"{NUMBER}1")
    )
    changed = json.loads(text)
    plan = publisher.put(f"{path}?dryRun=true", {**changed, "version": 1})
    published(publisher, path, {**changed, "version": 1})
    watcher = ApiClient(make_key(Grant(Role.GROUP_MONITORING_ADMIN, group_id=project.id)))
    pages = (
        path,
        f"{path}/revisions",
        f"{path}/revisions/1",
        f"/groups/{project.id}/events?includeRaw=true",
    )
    shown = [watcher.get(page).content.decode() for page in pages] + [plan.content.decode()]
    assert [page for page in shown if bodies.SECRET in page or str(NUMBER) in page] == []
    assert shown[0].count("******") == shown[2].count("******") == REDACTED
    assert watcher.get(path).json()["agentVersion"] == {
        "name": "1.0",
        "directoryUrl": "https://******@restore.example.com/1?******",
    }
    assert watcher.get(path).json()["auth"]["usersWanted"] == [{"user": "mms", "initPwd": "******"}]


@each("role", [Role.GROUP_OWNER, Role.GROUP_AUTOMATION_ADMIN, Role.GROUP_READ_ONLY])
def test_only_publishers_see_them(publisher: ApiClient, path: str, project: Project, role: Role) -> None:
    published(publisher, path, SENT)
    caller = ApiClient(make_key(Grant(role, group_id=project.id)))
    assert (bodies.SECRET in caller.get(path).content.decode()) is (role is not Role.GROUP_READ_ONLY)
    elsewhere = Grant(Role.ORG_READ_ONLY, org_id=project.org_id)
    assert bodies.SECRET not in ApiClient(make_key(elsewhere)).get(path).content.decode()


def test_a_redacted_document_can_be_written_back(publisher: ApiClient, reader: ApiClient, path: str) -> None:
    published(publisher, path, SENT)
    redacted = reader.get(path).json()
    assert published(publisher, path, redacted) == {**SENT, "version": 1}
    changed = {**redacted, "options": {"downloadBase": "/srv"}}
    assert published(publisher, path, changed) == {**SENT, **changed, **secret_parts()}


def secret_parts() -> dict[str, Any]:
    """What is in the next version although it was redacted."""
    return {"version": 2} | {name: SENT[name] for name in ("agentVersion", "auth", "processes")}


def test_a_redacted_one_below_an_object_that_should_be_an_array_is_refused(
    publisher: ApiClient, path: str
) -> None:
    published(publisher, path, SENT)
    answer = publisher.put(path, document(version=1, processes={"x": {"password": "******"}}))
    assert answer.status_code == 400
    assert publisher.get(path).json() == {**SENT, "version": 1}


def test_a_redacted_url_for_another_host_is_refused_by_its_field(publisher: ApiClient, path: str) -> None:
    published(publisher, path, SENT)
    sent = {
        **SENT,
        "version": 1,
        "agentVersion": {"directoryUrl": "https://******@evil.example.com/1?******"},
    }
    answer = publisher.put(path, sent)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "REDACTED_VALUE_UNKNOWN")
    assert [fault["field"] for fault in answer.json()["badFields"]] == ["/agentVersion/directoryUrl"]
    assert publisher.get(path).json() == {**SENT, "version": 1}


def test_no_refusal_and_no_log_line_reports_one(
    publisher: ApiClient, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = [publisher.put(path, body) for body in spoilt(SENT)]
    refused = [answer.content.decode() for answer in answers if answer.status_code != 200]
    assert len(refused) > 3
    assert bodies.SECRET not in "".join(refused) + caplog.text


def test_they_are_encrypted_at_rest(publisher: ApiClient, path: str) -> None:
    published(publisher, path, SENT)
    (kept,) = AutomationRevision.objects.values()
    assert bodies.SECRET not in str(kept)
    assert str(NUMBER) not in f"{kept} {list(Event.objects.values())}"
    assert bodies.SECRET not in str(list(Event.objects.values()))
    assert "clusterPassword" not in str(kept["document"])


@each("url", ["https://ada:hidden@h/x?sig=hidden", "//ada:hidden@h/x?sig=hidden"])
def test_no_text_of_a_turn_shows_a_secret(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project, url: str
) -> None:
    published(publisher, path, replica_set())
    measured(project)
    turn = taken(agent, project, asked(step=f"get {url}"))
    assert give(agent, project, turn, step=f"read {url}").status_code == 200
    failed = give(agent, project, turn, outcome="FAILED", reason=f"no {url}", step=f"write {url}")
    assert failed.json()["step"].startswith("write ")
    without_turn = asked(2, "DOWNLOAD", "other", step=f"get {url}", reason=f"no {url}")
    taken(agent, project, without_turn)
    waits = asked(2, request_id="again", waits=f"for {url}")
    answers = [failed, ask(agent, project, waits), publisher.get(f"/groups/{project.id}/automationStatus")]
    assert ["hidden" in answer.content.decode() for answer in answers] == [False] * 3
    assert "hidden" not in str(list(Event.objects.values_list("diffs", "details")))


def test_a_step_whose_mask_is_longer_than_its_secret_is_kept(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    measured(project)
    step = " ".join(["//a@b"] * 33)
    assert len(taken(agent, project, asked(step=step))["step"]) == 200


def test_events_of_moves_show_no_secret_in_the_name_of_a_process(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    name = "https://ada:hidden@h"
    published(publisher, path, document(version=0, processes=[process(name=name, hostname=machine(1))]))
    turn = taken(agent, project, {**asked(), "process": name})
    give(agent, project, turn, outcome="FAILED", reason="no disk")
    publisher.request("POST", f"{path}/resume")
    assert "hidden" not in str(list(Event.objects.values_list("diffs", "details")))
