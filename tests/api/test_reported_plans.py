"""The plans that automation agents report, and how the status shows them."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from events.models import Event
from opsapi import clock
from tests.api import bodies
from tests.api.automation import named, path, published, publisher, refusal
from tests.api.turns import agent
from tests.client import ApiClient
from tests.each import each

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db

BEGAN = "2026-11-21T07:26:14Z"
STEP = {"step": "stop", "started": BEGAN, "finished": "2026-11-21T07:26:20Z"}
MOVE = {"move": "RESTART", "state": "RUNNING", "started": BEGAN, "steps": [STEP, {"step": "start"}]}
WAIT = {"reason": "LAG", "detail": "the lag of b is 12 s, more than 10 s", "since": BEGAN}
PLAN = {"moves": [MOVE], "waits": [WAIT]}


def report(agent: ApiClient, project: Project, plan: Any) -> Any:
    process = {"name": "a", "hostname": "a.example.com", "lastGoalVersionAchieved": 0, "plan": plan}
    return agent.report(project.id, bodies.report(agentType="AUTOMATION", processes=[process]))


def shown(publisher: ApiClient, project: Project) -> Any:
    """The plan of process a in the status."""
    (process,) = publisher.get(f"/groups/{project.id}/automationStatus").json()["processes"]
    return process["plan"]


def test_the_status_shows_the_plan_that_the_agent_reports(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, named("a"))
    assert shown(publisher, project)["origin"] == "PLATFORM"
    assert report(agent, project, PLAN).status_code == 202
    plan = shown(publisher, project)
    assert (plan["origin"], plan["moves"], plan["waits"]) == (
        "AGENT",
        [{**MOVE, "disturbs": True}],
        [WAIT],
    )


def test_a_move_without_a_turn_that_is_done_is_an_event_once(agent: ApiClient, project: Project) -> None:
    downloaded = {"move": "DOWNLOAD", "state": "DONE", "started": BEGAN, "finished": BEGAN}
    restarted = {**MOVE, "state": "DONE"}
    running = {**downloaded, "move": "WRITE_FILE", "state": "RUNNING"}
    for _ in range(2):
        report(agent, project, {"moves": [downloaded, restarted, running]})
    ended = Event.objects.filter(event_type="AUTOMATION_MOVE_ENDED_AUDIT")
    event = ended.get()
    (diff,) = event.diffs
    assert (diff["id"], diff["params"][0]["new"]) == ("a", "DOWNLOAD")
    report(agent, project, {"moves": [downloaded, restarted, {**running, "state": "DONE"}]})
    assert ended.count() == 2


def test_an_old_plan_is_not_shown(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, named("a"))
    with time_machine.travel(clock.now(), tick=False) as traveller:
        report(agent, project, PLAN)
        traveller.shift(timedelta(minutes=5))
        assert shown(publisher, project)["origin"] == "PLATFORM"


def test_a_report_without_a_plan_ends_the_plan(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, named("a"))
    report(agent, project, PLAN)
    process = {"name": "a", "hostname": "a.example.com", "lastGoalVersionAchieved": 1}
    agent.report(project.id, bodies.report(agentType="AUTOMATION", processes=[process]))
    assert shown(publisher, project)["origin"] == "PLATFORM"


def test_a_pause_is_shown_with_the_plan_of_the_agent(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, named("a"))
    publisher.request("POST", f"{path}/pause")
    report(agent, project, {"waits": [{"reason": "LAG"}]})
    assert [wait["reason"] for wait in shown(publisher, project)["waits"]] == ["PAUSED", "LAG"]


@each(
    "row", [({"goalVersion": 1}, ["START"]), ({"goalVersion": 2}, ["STOP", "START"]), ({}, ["STOP", "START"])]
)
def test_ended_moves_of_the_version_before_are_left_out_whatever_the_clock_of_the_agent_says(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project, row: tuple[Any, list[str]]
) -> None:
    """Earlier agents do not say the version."""
    version, expected = row
    published(publisher, path, named("a"))
    published(publisher, path, named("a", version=1, disabled=True))
    ended = {"move": "STOP", "state": "DONE", "finished": BEGAN}
    begun = {"move": "START", "state": "RUNNING", "started": BEGAN}
    report(agent, project, {**version, "moves": [ended, begun]})
    assert [move["move"] for move in shown(publisher, project)["moves"]] == expected


def test_a_reason_that_the_platform_knows_is_not_repeated(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, named("a"))
    publisher.request("POST", f"{path}/pause")
    report(agent, project, {})
    (paused,) = shown(publisher, project)["waits"]
    again = f"409 AUTOMATION_TURN_REFUSED: The process a gets no turn: {paused['detail']}. It waits."
    waits = [{"reason": "PAUSED", "detail": "no"}, {"reason": "NO_TURN", "detail": again}, WAIT]
    report(agent, project, {"waits": waits})
    assert shown(publisher, project)["waits"] == [paused, WAIT]


def test_secrets_in_urls_are_removed(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, named("a"))
    why = "cannot read https://ada:s3cret@example.com/x"
    failed = {"move": "DOWNLOAD", "state": "FAILED", "reason": why, "steps": [{"step": why}]}
    report(agent, project, {"moves": [failed], "waits": [{"reason": "LAG", "detail": why}]})
    assert "s3cret" not in str(shown(publisher, project))
    assert "******@example.com" in str(shown(publisher, project))


FAULTS: tuple[tuple[Any, str, str], ...] = (
    ([], "INVALID_ATTRIBUTE", ""),
    ({"goalVersion": "1"}, "INVALID_ATTRIBUTE", ".goalVersion"),
    ({"steps": []}, "INVALID_ATTRIBUTE", ".steps"),
    ({"moves": [{"state": "DONE"}]}, "MISSING_ATTRIBUTE", ".moves[0].move"),
    ({"moves": [{**MOVE, "move": "JUMP"}]}, "INVALID_ENUM_VALUE", ".moves[0].move"),
    ({"moves": [{**MOVE, "state": "LOST"}]}, "INVALID_ENUM_VALUE", ".moves[0].state"),
    ({"moves": [{**MOVE, "started": "soon"}]}, "INVALID_ATTRIBUTE", ".moves[0].started"),
    ({"moves": [{**MOVE, "steps": [{"step": 1}]}]}, "INVALID_ATTRIBUTE", ".moves[0].steps[0].step"),
    ({"moves": [MOVE] * 101}, "INVALID_ATTRIBUTE", ".moves"),
    ({"moves": [{**MOVE, "steps": [STEP] * 51}]}, "INVALID_ATTRIBUTE", ".moves[0].steps"),
    ({"waits": [{"reason": "MOOD"}]}, "INVALID_ENUM_VALUE", ".waits[0].reason"),
)


@each("row", FAULTS, ids=lambda row: row[2] or "plan")
def test_a_wrong_plan_names_the_field(agent: ApiClient, project: Project, row: tuple[Any, str, str]) -> None:
    plan, code, field = row
    assert refusal(report(agent, project, plan)) == (400, code, [f"processes[0].plan{field}"])
