"""Fills an installation with the history of a year, and measures it. Needs a set-up Django: see `year`."""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from accesslist.retention import retention_choose
from alerting.engine.purge import alerts_trim, events_trim
from alerting.models import Alert, AlertConfig, Notification
from automation.choices import HostType
from automation.models import Host, ReplicaSet
from events.models import Event
from opsapi import clock
from opsapi.api.links import PUBLIC
from opsapi.api.principal import SYSTEM
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.sitemap import ENTRIES, SitePage
from opsapi.roles import Role
from opsapi.sql import execute
from tests.benchmarks.fill import make_configs
from tests.client import authorization
from tests.factories.accesslist import KeyPair, ProjectFactory, UserFactory, make_key
from tests.factories.automation import host_report, ingest

HOSTS, CONFIGS = 1_000, 500
ALERTS, EVENTS = 110_000, 477_000
MESSAGES = 3
"""Of each alert, delivered at the first attempt."""
OPEN = 200
"""Alerts, the newest."""
_PERIOD = timedelta(days=365)
_TIMES = 5
_BATCHES = 10
_KEPT_DAYS = 200
_HOSTS_PER_REPORT = 100
_GIVEN = """
WITH given AS (
    SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
             || lpad(to_hex(number), 12, '0') AS id, number, at,
           (%(configs)s::text[])[1 + number %% cardinality(%(configs)s::text[])] AS config_id,
           (%(hosts)s::text[])[1 + number %% cardinality(%(hosts)s::text[])] AS host_id,
           number < %(count)s - %(open)s AS is_over,
           jsonb_build_object('hostname', 'db' || lpad((number %% 1000)::text, 4, '0') || '.example.com',
                              'port', 27017, 'replicaSetName', 'rs' || number %% 1000 / 3) AS facts
      FROM generate_series(0, %(count)s - 1) AS number,
           LATERAL (SELECT %(start)s + number * %(step)s::interval AS at) AS moment
)
"""
_ALERTS = f"""{_GIVEN}
INSERT INTO alerting_alert (
    id, group_id, config_id, is_global, event_type, severity, status, target_key, facts, incident_id, tags,
    created, updated, opens, resolved, last_notified)
SELECT id, %(group)s, config_id, false, 'HOST_DOWN', 'WARNING',
       CASE WHEN is_over THEN 'CLOSED' ELSE 'OPEN' END, host_id,
       facts || jsonb_build_object('hostId', host_id), id, '{{}}', at, at + interval '10 minutes', at,
       CASE WHEN is_over THEN at + interval '10 minutes' END, at
  FROM given
"""  # noqa: S608 - contains only our own names
_INCIDENTS = f"""{_GIVEN}
INSERT INTO alerting_incident (id, group_id, config_id, lead_id, units, created, grown, ended)
SELECT id, %(group)s, config_id, id, ARRAY[host_id], at, at,
       CASE WHEN is_over THEN at + interval '10 minutes' END
  FROM given
"""  # noqa: S608 - contains only our own names
_MESSAGES = """
INSERT INTO alerting_notification (
    id, group_id, alert_id, incident_id, setting_id, type_name, channel, kind, status, recipient,
    destination, subject, created, due, attempts, first_attempt, delivered, latency_ms, perhaps_received)
SELECT substr(id, 1, 12) || lpad(to_hex(message), 2, '0') || substr(id, 15), group_id, id, id,
       repeat('0', 24), 'EMAIL', 'EMAIL', CASE message WHEN 1 THEN 'alert.open' ELSE 'alert.update' END,
       'DELIVERED', 'oncall@example.com', '', target_key, at, at, 1, at, at, 40, true
  FROM alerting_alert, generate_series(1, %(messages)s) AS message,
       LATERAL (SELECT created + message * interval '1 minute' AS at) AS moment
"""
_ATTEMPTS = """
INSERT INTO alerting_notificationattempt (notification_id, number, ended, status, latency_ms)
SELECT id, 1, created, 'delivered', 40 FROM alerting_notification
"""
_EVENTS = f"""{_GIVEN}
INSERT INTO events_event (id, created, event_type, group_id, org_id, details, diffs, raw)
SELECT id, at, CASE WHEN number %% 2 = 0 THEN 'HOST_DOWN' ELSE 'HOST_UP' END, %(group)s, %(org)s,
       facts, '[]', facts
  FROM given
"""  # noqa: S608 - contains only our own names
_LISTS = (
    *("alerts", "alerts?status=OPEN", "alertConfigs", "hosts", "events", "events?pageNum=1000"),
    "events?eventType=HOST_UP",
)


def main() -> None:
    """Write milliseconds to stdout, as JSON: of pages, of lists, and of batches that are deleted."""
    now = clock.now().replace(microsecond=0)
    project = ProjectFactory.create(name="payments")
    _fill(project, now)
    owner, key = UserFactory.create(), make_key(Role.GLOBAL_READ_ONLY)
    owner.grants.create(role=Role.GLOBAL_OWNER.value)
    browser = Client(headers={"Host": "localhost"})
    browser.force_login(owner)
    pages = {name: _milliseconds(partial(_read, browser, url)) for name, url in _pages()}
    lists = {name: _milliseconds(partial(_ask, browser, key, project, name)) for name in _LISTS}
    retention_choose(event_days=_KEPT_DAYS, alert_days=_KEPT_DAYS, actor=SYSTEM, now=now)
    batches = {
        "a batch of old events": _batches(partial(events_trim, now=now)),
        "a batch of old alerts": _batches(partial(alerts_trim, now=now)),
    }
    sys.stdout.write(json.dumps({"pages": pages, "lists": lists, "batches": batches}))


def _fill(project: Project, now: datetime) -> None:
    for first in range(0, HOSTS, _HOSTS_PER_REPORT):
        reports = [
            host_report(
                f"db{number:04}.example.com",
                type_name=HostType.REPLICA_SECONDARY if number % 3 else HostType.REPLICA_PRIMARY,
                replica_set_name=f"rs{number // 3}",
                version="7.0.1",
                CONNECTIONS=100.0 + number,
            )
            for number in range(first, first + _HOSTS_PER_REPORT)
        ]
        ingest(project, *reports, now=now)
    make_configs(project, CONFIGS, "http://127.0.0.1:9/")
    values = {
        "group": project.id,
        "org": project.org_id,
        "hosts": list(Host.objects.order_by("hostname").values_list("id", flat=True)),
        "configs": list(AlertConfig.objects.values_list("id", flat=True)),
        "start": now - _PERIOD,
        "open": OPEN,
        "messages": MESSAGES,
    }
    for statement, count in ((_ALERTS, ALERTS), (_INCIDENTS, ALERTS), (_EVENTS, EVENTS)):
        execute(statement, {**values, "count": count, "step": _PERIOD / count})
    execute(_MESSAGES, values)
    execute(_ATTEMPTS)
    execute("VACUUM ANALYZE")


def _pages() -> Iterator[tuple[str, str]]:
    """The pages of the sitemap, and a page of each kind of row that operators open."""
    for entry in ENTRIES:
        for page in entry.pages:
            yield f"{entry.title}: {page.title}", _url(page)
    rows = {
        "an alert": Alert.objects.order_by("-created")[OPEN // 2],
        "an ended alert": Alert.objects.order_by("created")[ALERTS // 2],
        "a message": Notification.objects.order_by("-created")[OPEN],
        "a rule": AlertConfig.objects.order_by("id")[0],
        "a host": Host.objects.order_by("hostname")[HOSTS // 2],
        "a replica set": ReplicaSet.objects.order_by("id")[0],
        "an event": Event.objects.order_by("-created")[OPEN],
    }
    for name, row in rows.items():
        yield name, page_url(row)
    yield "search of an alert", list_url(Alert, q="db0500")


def _url(page: SitePage) -> str:
    if page.url_name:
        return reverse(page.url_name)
    return list_url(page.model)


def _read(browser: Client, url: str) -> None:
    answer = browser.get(url, follow=True)
    assert answer.status_code == 200, (url, answer.status_code)


def _ask(browser: Client, key: KeyPair, project: Project, name: str) -> None:
    target = f"{PUBLIC}/groups/{project.id}/{name}"
    signed = authorization(key, "GET", target)
    answer = browser.get(target, headers={"Authorization": signed}, RAW_URI=target)
    assert answer.status_code == 200, (target, answer.status_code, answer.content)


def _batches(delete: Callable[[], bool]) -> float:
    """Milliseconds of the longest of several batches."""
    return max(_once(delete) for _ in range(_BATCHES))


def _milliseconds(measured: Callable[[], object]) -> float:
    """The median of several calls, after a call that loads the program."""
    _once(measured)
    return statistics.median(_once(measured) for _ in range(_TIMES))


def _once(measured: Callable[[], object]) -> float:
    began = time.monotonic()
    measured()
    return (time.monotonic() - began) * 1000
