"""Reports of agents (decisions 8 "agent report")."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.report_documents import ReportAnswerDocument, ReportDocument, read_report
from automation.services.ingest import report_ingest
from opsapi.api.permissions import in_group
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role


class ReportViewSet(ApiViewSet):
    """`POST /agents/v1.0/groups/{id}/reports`."""

    access = {"create": in_group(Role.GROUP_AGENT, Role.GROUP_MONITORING_ADMIN, Role.GROUP_AUTOMATION_ADMIN)}
    bodies = {"create": ReportDocument}
    answers = {"create": ReportAnswerDocument}
    statuses = {"create": 202}
    max_body = 16 * 1024 * 1024

    def create(self, request: Request, group_id: str) -> Response:
        """Takes one report, all or nothing."""
        report = read_report(self.body(now=self.now), self.now)
        report_ingest(group_id=self.group.id, report=report, actor=self.actor, now=self.now)
        accepted = {
            "hosts": len(report.hosts),
            "measurements": report.sample_count,
            "events": len(report.events),
        }
        return Response({"accepted": accepted})
