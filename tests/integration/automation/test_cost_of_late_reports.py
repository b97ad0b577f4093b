"""A report that waited on the disk of its agent needs no more statements than a report without a wait."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from tests.factories.automation import host_report, ingest

NOW = datetime(2099, 3, 4, 15, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
pytestmark = pytest.mark.django_db


def statements(project: Project, *, observed: datetime | None, waiting: int | None, now: datetime) -> int:
    """The statements of a report of two hosts."""
    hosts = [host_report(name, CONNECTIONS=5) for name in ("db1", "db2")]
    with CaptureQueriesContext(
        connection,
    ) as captured:
        ingest(project, *hosts, observed=observed, waiting=waiting, now=now)
    return len(captured)


def test_a_report_of_a_backlog_costs_as_many_statements_as_a_live_report(project: Project) -> None:
    for minute in range(2):
        live = statements(project, observed=None, waiting=0, now=NOW + minute * MINUTE)
    now = NOW + 90 * MINUTE
    backlog = [
        statements(project, observed=now - waiting * MINUTE, waiting=waiting, now=now)
        for waiting in (60, 59, 58)
    ]
    # The first changes the agent, which returns after its heartbeat timeout.
    assert max(backlog[1:]) <= live
