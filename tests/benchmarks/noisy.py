"""The noise of configurations with alerts of four weeks. Needs a Django that is set up: see `noise_cost`."""

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from statistics import median

from django.db.models import OrderBy

from alerting.insight.noise import PERIOD
from alerting.insight.noise_counts import FIGURES, NoiseFigure, noise_of
from alerting.models import AlertConfig
from opsapi import clock
from opsapi.sql import execute
from tests.benchmarks.fill import make_configs
from tests.factories.accesslist import ProjectFactory

CONFIGS = 500
_SHOWN = 50
_TIMES = 5
# The alerts of a configuration are on 20 targets, and last up to two hours; a message was sent for each.
_ALERTS = """
INSERT INTO alerting_alert (
    id, group_id, config_id, is_global, event_type, status, target_key, facts, incident_id, metric_name,
    current_value, tags, created, updated, opens, resolved, last_notified, acknowledged_until)
SELECT lpad(to_hex(number), 24, '0'), %(group)s, configs.ids[1 + number %% %(configs)s], false, 'HOST_DOWN',
       'CLOSED', 'target ' || (number / %(configs)s) %% 20,
       jsonb_build_object('hostId', lpad(to_hex(number %% 20), 24, '0'), 'port', 27017,
                          'hostname', 'db' || number %% 20 || '.example.com'),
       NULL, NULL, NULL, '{}', at, at + lasts, at, at + lasts, at,
       CASE WHEN number %% 7 = 0 THEN at + interval '1 hour' END
  FROM (SELECT %(ids)s::text[] AS ids) AS configs,
       generate_series(0, %(alerts)s - 1) AS number
 CROSS JOIN LATERAL (SELECT %(start)s + number * %(step)s::interval AS at,
                            (number * 37 %% 7200) * interval '1 second' AS lasts) AS times
"""
_MESSAGES = """
INSERT INTO alerting_notification (
    id, group_id, alert_id, setting_id, type_name, channel, kind, status, recipient, destination, subject,
    created, due, attempts, perhaps_received)
SELECT 'f' || substr(id, 2), group_id, id, repeat('0', 24), 'EMAIL', 'EMAIL', 'alert.open', 'DELIVERED',
       'oncall@example.com', '', target_key, created, created, 1, true
  FROM alerting_alert WHERE group_id = %(group)s
"""
_BARE = "SELECT count(*) FROM alerting_alert WHERE created >= %(start)s"


def main() -> None:
    """Take a number of alerts, and write milliseconds to stdout, as JSON."""
    alerts = int(sys.argv[1])
    start = clock.now() - PERIOD + timedelta(hours=1)
    _fill(alerts, start)
    figures = {
        "bare": _milliseconds(lambda: execute(_BARE, {"start": start})),
        "single": _milliseconds(lambda: noise_of(AlertConfig.objects.all()[:1], now=clock.now())),
        "page": _milliseconds(lambda: _page("id")),
        "sorted": {
            name: _milliseconds(partial(_page, OrderBy(NoiseFigure(name), descending=True)))
            for name in FIGURES
        },
    }
    sys.stdout.write(json.dumps(figures))


def _fill(alerts: int, start: datetime) -> None:
    project = ProjectFactory.create(name="noisy")
    make_configs(project, CONFIGS, "http://127.0.0.1:9/")
    ids = list(AlertConfig.objects.filter(group=project).values_list("id", flat=True))
    values = {
        "group": project.id,
        "ids": ids,
        "configs": len(ids),
        "alerts": alerts,
        "start": start,
        "step": (PERIOD - timedelta(hours=4)) / alerts,
    }
    for statement in (_ALERTS, _MESSAGES, "VACUUM ANALYZE alerting_alert, alerting_notification"):
        execute(statement, values)


def _page(*order: str | OrderBy) -> None:
    """The rows of a page of the list of configurations, with their noise."""
    rows = AlertConfig.objects.filter(deleted=None).order_by(*order, "id")[:_SHOWN]
    noise_of(list(rows), now=clock.now())


def _milliseconds(measured: Callable[[], object]) -> float:
    """The median of several calls."""
    times = []
    for _ in range(_TIMES):
        begin = time.monotonic()
        measured()
        times.append((time.monotonic() - begin) * 1000)
    return median(times)
