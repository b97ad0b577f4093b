"""The progress of an automation configuration, the pause of its plan, and the turns of its agents."""

from datetime import datetime, timedelta

from django.utils.functional import cached_property
from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import CARRY_OUT, READ, WRITE_CONFIG
from automation.desired_state.document.publish import ANY_ETAG
from automation.desired_state.machines import require_machine
from automation.desired_state.views import AutomationRenderer
from automation.plan.values import MoveKind
from automation.sections import machine_key
from automation.turns.agent_documents import (
    MachineConfigDocument,
    TurnDocument,
    TurnReportDocument,
    TurnRequestDocument,
    turn_document,
)
from automation.turns.changes import fetch_record, plan_pause, plan_resume, turn_ask, turn_report
from automation.turns.models import PausedPlan
from automation.turns.resource import (
    AutomationStatusDocument,
    NoFieldsDocument,
    PausedPlanDocument,
    pause_fields,
)
from automation.turns.rules import TurnOutcome, TurnReport, TurnRequest
from automation.turns.store import automation_status, machine_config, machine_state, turn_with_id
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.query import Parameter
from opsapi.api.views import ApiViewSet
from opsapi.hostnames import LONGEST_NAME, canonical_hostname
from opsapi.sql import database_time
from opsapi.wire_json import JsonObject


class OfPlan(ApiViewSet):
    """Base of views of the plan of a project."""

    @property
    def status_links(self) -> list[dict[str, str]]:
        """The links of the status."""
        group = f"/groups/{self.group.id}"
        relations = {"group": group, "automationConfig": f"{group}/automationConfig"}
        return self.links.related(f"{group}/automationStatus", relations)


class AutomationStatusViewSet(OfPlan):
    """`/groups/{id}/automationStatus`."""

    access = {"retrieve": READ}
    answers = {"retrieve": AutomationStatusDocument}

    def retrieve(self, request: Request, group_id: str) -> Response:
        """Get the current version, whether its plan is paused, and the progress and plan of each process."""
        status = automation_status(self.group.id, self.now)
        return Response(AutomationStatusDocument.of_status(status, self.status_links))


class PauseViewSet(OfPlan):
    """`/groups/{id}/automationConfig/pause`, `…/resume`."""

    access = {"pause": WRITE_CONFIG, "resume": WRITE_CONFIG}
    bodies = {"pause": NoFieldsDocument, "resume": NoFieldsDocument}
    optional_bodies = frozenset(bodies)
    answers = {"pause": PausedPlanDocument, "resume": PausedPlanDocument}

    def pause(self, request: Request, group_id: str) -> Response:
        """Pause the plan: agents get no new turns. A paused plan keeps its time and author."""
        self.body()
        return self._answer(plan_pause(group_id=self.group.id, actor=self.actor, now=self.now))

    def resume(self, request: Request, group_id: str) -> Response:
        """Resume the plan, also after it stopped. Another plan stays as it is."""
        self.body()
        plan_resume(group_id=self.group.id, actor=self.actor, now=self.now)
        return self._answer(None)

    def _answer(self, pause: PausedPlan | None) -> Response:
        document: JsonObject = {**pause_fields(pause), "links": self.status_links}
        return Response(document)


def _read_hostname(text: str) -> str:
    hostname = canonical_hostname(text) if len(text) <= LONGEST_NAME else None
    if hostname is None:
        raise ValueError("must be a host name (RFC 1123) or an IP address")
    return hostname


HOSTNAME = Parameter(
    "hostname",
    _read_hostname,
    None,
    {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "The machine of the agent, as in `hostname` or `alias` of its processes. Required.",
)


class OfAgent(ApiViewSet):
    """Base of views of agents that carry out a plan. Their time is that of the database, as in reports."""

    linked = False

    @cached_property
    def now(self) -> datetime:
        """The time of the database, read once."""
        return database_time()


class MachineConfigViewSet(OfAgent):
    """`GET /agents/v1.0/groups/{id}/automation`."""

    renderer_classes = [AutomationRenderer]
    access = {"retrieve": CARRY_OUT}
    parameters = {"retrieve": (HOSTNAME,)}
    answers = {"retrieve": MachineConfigDocument}
    also_answers = {"retrieve": {304: OpenApiResponse(description="The version matches If-None-Match.")}}
    refusals = {"retrieve": (ErrorCode.HOSTNAME_NOT_OF_KEY, ErrorCode.MISSING_QUERY_PARAMETER)}

    def retrieve(self, request: Request, group_id: str) -> Response:
        """Get the part of the automation configuration for a machine, with its secrets.

        It has the processes of this machine, and only names and ports of other members. The ETag changes with
        the version, a pause and a stop. With If-None-Match, a part that the agent already has is not sent
        again.
        """
        hostname = self.query["hostname"]
        if hostname is None:
            raise ApiError.of_field("hostname", ErrorCode.MISSING_QUERY_PARAMETER, "is required")
        require_machine(self.actor, hostname)
        state = machine_state(self.group.id)
        known = {
            tag.removeprefix("W/") for tag in parse_etags(self.http_request.headers.get("If-None-Match", ""))
        }
        if known & {ANY_ETAG, state.etag}:
            return Response(status=304, headers={"ETag": state.etag})
        part = machine_config(self.group.id, hostname, state)
        if part["processes"]:
            fetch_record(
                group_id=self.group.id,
                hostname=machine_key(hostname),
                version=part["version"],
                actor=self.actor,
                now=self.now,
            )
        return Response(part, headers={"ETag": state.etag_of(part["version"])})


class TurnViewSet(OfAgent):
    """`/agents/v1.0/groups/{id}/turns`, `…/{turn_id}`."""

    access = {"create": CARRY_OUT, "update": CARRY_OUT}
    bodies = {"create": TurnRequestDocument, "update": TurnReportDocument}
    answers = {"create": TurnDocument, "update": TurnDocument}
    statuses = {"create": 201}
    identifiers = {"turn_id": ErrorCode.INVALID_TURN_ID}
    refusals = {
        "create": (
            ErrorCode.HOSTNAME_NOT_OF_KEY,
            ErrorCode.AUTOMATION_TURN_REFUSED,
            ErrorCode.AUTOMATION_TURN_OVER,
            ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION,
            ErrorCode.LIMIT_REACHED,
        ),
        "update": (ErrorCode.HOSTNAME_NOT_OF_KEY, ErrorCode.AUTOMATION_TURN_OVER),
    }

    def load(self) -> None:
        """Find the turn of the path."""
        if "turn_id" in self.kwargs:
            turn_id = self.kwargs["turn_id"]
            turn = turn_with_id(turn_id, group_id=self.group.id)
            require_machine(self.actor, get_or_404(turn, ErrorCode.TURN_NOT_FOUND, turn_id).hostname)

    def create(self, request: Request, group_id: str) -> Response:
        """Ask for the turn of the replica set of a process, to make a move.

        Only one turn of a replica set is held at a time. It is refused while the plan is paused, or while a
        guard does not hold. A repeated request gets the same turn.

        With `follows`, the turn of a step-down ends, and the process gets the turn for its stop or restart at
        once, also during a pause: the guards of the step-down include the guards of the restart.

        With `waits`, the agent says that its own guards let the move wait. It gets no turn.

        A move that takes no turn, such as a download, is sent after it failed, with the reason. No guard is
        asked. The plan of the replica set stops, as after a failed move with a turn.
        """
        values = self.body()
        require_machine(self.actor, values["hostname"])
        asked = TurnRequest(
            hostname=values["hostname"],
            process=values["process"],
            move=MoveKind(values["move"]),
            request_id=values["request_id"],
            length=timedelta(seconds=values["seconds"]),
            goal_version=values.get("goal_version"),
            step=values.get("step"),
            members=frozenset(values["members"]) if "members" in values else None,
            member=values.get("member"),
            follows=values.get("follows"),
            failure=values.get("reason"),
            waits=values.get("waits"),
        )
        turn = turn_ask(group_id=self.group.id, request=asked, actor=self.actor, now=self.now)
        return Response(turn_document(turn))

    def update(self, request: Request, group_id: str, turn_id: str) -> Response:
        """Renew a turn, or give it back with its outcome.

        A turn that has expired cannot be renewed. It can be given back as failed.
        """
        values = self.body()
        outcome = values.get("outcome")
        report = TurnReport(
            fence=values["fence"],
            outcome=TurnOutcome(outcome) if outcome else None,
            reason=values.get("reason"),
            step=values.get("step"),
        )
        turn = turn_report(
            group_id=self.group.id, turn_id=turn_id, report=report, actor=self.actor, now=self.now
        )
        return Response(turn_document(turn))
