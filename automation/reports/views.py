"""Reports of agents."""

from datetime import datetime

from django.conf import settings
from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.throttles import throttle
from automation.access import REPORT
from automation.desired_state.machines import require_machine, require_processes
from automation.reports.changes import report_ingest
from automation.reports.repeats import IDEMPOTENCY_KEY, RepeatableReport, first_answer
from automation.reports.resource import ReportAnswerDocument, ReportDocument, read_report
from opsapi.api.catalogue import ErrorCode
from opsapi.api.query import Parameter
from opsapi.api.views import ApiViewSet
from opsapi.sql import database_time

# `opsapi.api.bodies` has checked it before the parameters are read.
CONTENT_ENCODING = Parameter(
    "Content-Encoding",
    str,
    None,
    {"type": "string", "enum": ["gzip", "identity"]},
    "`gzip` if the report is compressed. Its size is limited before and after it is decompressed. Other "
    "codings are 415.",
    is_header=True,
)


class ReportViewSet(ApiViewSet):
    """`POST /agents/v1.0/groups/{id}/reports`."""

    access = {"create": REPORT}
    parameters = {"create": [IDEMPOTENCY_KEY, CONTENT_ENCODING]}
    bodies = {"create": ReportDocument}
    answers = {"create": ReportAnswerDocument}
    statuses = {"create": 202}
    refusals = {
        "create": (
            ErrorCode.HOSTNAME_NOT_OF_KEY,
            ErrorCode.IDEMPOTENCY_KEY_REUSED,
            ErrorCode.LIMIT_REACHED,
        )
    }
    max_body = settings.OPSAPI_MAX_REPORT_MB * 1024 * 1024
    takes_gzip = True

    @cached_property
    def now(self) -> datetime:
        """The time of the database, read once: workers find heartbeat timeouts by the same clock."""
        return database_time()

    def load(self) -> None:
        """Count the report before its body is read."""
        limit = settings.OPSAPI_RATE_REPORTS
        note = f"An API key may send {limit} reports a minute. The setting is OPSAPI_RATE_REPORTS."
        throttle(f"reports {self.actor.id}", limit, self.now, note=note)

    def create(self, request: Request, group_id: str) -> Response:
        """Store a report, all or nothing. A repeat with its Idempotency-Key gets the first answer."""
        repeatable = self._repeatable()
        # Before the body is checked: the times of a repeat may be too old by now.
        if repeatable and (first := first_answer(repeatable, self.now)):
            return Response(first)
        report = read_report(self.body(now=self.now))
        require_machine(self.actor, report.hostname)
        processes = [(process.name, process.hostname) for process in report.processes]
        require_processes(self.actor, self.group.id, processes)
        answer = report_ingest(
            group_id=self.group.id, report=report, repeatable=repeatable, actor=self.actor, now=self.now
        )
        return Response(answer)

    def _repeatable(self) -> RepeatableReport | None:
        key = self.query[IDEMPOTENCY_KEY.name]
        if key is None:
            return None
        caller_id = self.actor.id or ""
        return RepeatableReport.of(key, self._raw_body, group_id=self.group.id, caller_id=caller_id)
