"""Routes of the fleet: reports of agents, hosts, the closed set of metrics (decisions 8)."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.report_documents import ReportAnswerDocument, ReportDocument, read_report
from automation.selectors import HostRow, host_rows
from automation.serializers import METRIC_ROWS, HostDocument, MetricDocument, present_host
from automation.services.ingest import report_ingest
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY, in_group
from opsapi.api.query import LISTING
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
        return Response({"accepted": accepted}, status=202)


class HostViewSet(ApiViewSet):
    """Reading the hosts of a project."""

    access = {"index": in_group(Role.GROUP_READ_ONLY), "retrieve": in_group(Role.GROUP_READ_ONLY)}
    parameters = {"index": LISTING}
    answers = {"index": [HostDocument], "retrieve": HostDocument}
    identifiers = {"host_id": ErrorCode.INVALID_HOST_ID}

    host: HostRow

    def load(self) -> None:
        """The host of the path."""
        if "host_id" not in self.kwargs:
            return
        row = host_rows(self.group.id).filter(id=self.kwargs["host_id"]).first()
        self.host = found(row, ErrorCode.HOST_NOT_FOUND, self.kwargs["host_id"], self.group.id)

    def index(self, request: Request, group_id: str) -> Response:
        """Hosts by name and port."""
        return self.list(host_rows(self.group.id), lambda row: present_host(row, self.links))

    def retrieve(self, request: Request, group_id: str, host_id: str) -> Response:
        """One host."""
        return Response(present_host(self.host, self.links, alone=True))


class MetricViewSet(ApiViewSet):
    """The closed set of metrics."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [MetricDocument]}

    def index(self, request: Request) -> Response:
        """Every metric with its units."""
        return self.list(PlainRows(METRIC_ROWS), lambda row: row)
