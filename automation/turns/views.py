"""The progress of an automation configuration, and the pause of its plan."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, WRITE_CONFIG
from automation.turns.changes import plan_pause, plan_resume
from automation.turns.models import PausedPlan
from automation.turns.resource import AutomationStatusDocument, PausedPlanDocument, pause_fields
from automation.turns.store import automation_status
from opsapi.api.views import ApiViewSet
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
    answers = {"pause": PausedPlanDocument, "resume": PausedPlanDocument}

    def pause(self, request: Request, group_id: str) -> Response:
        """Pause the plan: agents get no new turns. A paused plan keeps its time and author."""
        return self._answer(plan_pause(group_id=self.group.id, actor=self.actor, now=self.now))

    def resume(self, request: Request, group_id: str) -> Response:
        """Resume the plan. A plan that is not paused stays as it is."""
        plan_resume(group_id=self.group.id, actor=self.actor, now=self.now)
        return self._answer(None)

    def _answer(self, pause: PausedPlan | None) -> Response:
        document: JsonObject = {**pause_fields(pause), "links": self.status_links}
        return Response(document)
