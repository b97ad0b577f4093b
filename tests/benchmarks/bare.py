"""The limit for the alert list: only the work that the answer needs.

One WSGI function, one psycopg query returning datetimes formatted here, the same 100 documents and bytes,
orjson, prepared statements, no framework, no authentication; served by the platform's own gunicorn
configuration. The number of alerts is an argument and not counted.
"""

import os
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import psycopg
from psycopg.types.json import set_json_loads

from automation.metrics import Metric, base_unit
from opsapi.embedded.layout import Layout

TOTAL_VARIABLE = "BENCHMARK_TOTAL_COUNT"
_QUERY = """
SELECT id, config_id, group_id, event_type, created, updated, status, tags, facts, last_notified, resolved,
       acknowledged_until, acknowledgement_comment, acknowledging_username, metric_name, current_value
  FROM alerting_alert WHERE group_id = %s ORDER BY created DESC, id DESC LIMIT 100
"""
_UNITS = {metric.value: base_unit(metric).value for metric in Metric}
_TARGET = ("clusterId", "clusterName", "hostId", "replicaSetName", "sourceTypeName")

_local = threading.local()
set_json_loads(orjson.loads)


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """Answer the first 100 alerts of the project in the path, as the platform does."""
    group_id = environ["PATH_INFO"].split("/")[5]
    base = f"http://{environ['HTTP_HOST']}/api/public/v1.0/groups/{group_id}/alerts"
    rows = _connection().execute(_QUERY, (group_id,), prepare=True).fetchall()
    document = {
        "results": [_document(row, base) for row in rows],
        "links": [
            {"href": f"{base}?pageNum=1&itemsPerPage=100", "rel": "self"},
            {"href": f"{base}?pageNum=2&itemsPerPage=100", "rel": "next"},
        ],
        "totalCount": int(os.environ[TOTAL_VARIABLE]),
    }
    body = orjson.dumps(document)
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def _connection() -> psycopg.Connection:
    if not hasattr(_local, "connection"):
        database = Layout(Path(os.environ["OPSAPI_DATA_DIR"])).django_database()
        _local.connection = psycopg.connect(
            dbname=database["NAME"],
            user=database["USER"],
            host=database["HOST"],
            port=database["PORT"],
            autocommit=True,
        )
    connection: psycopg.Connection = _local.connection
    return connection


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _document(row: tuple[Any, ...], base: str) -> dict[str, Any]:
    (alert_id, config_id, group_id, event_type, created, updated, status, tags, facts, *rest) = row
    notified, resolved, until, comment, username, metric, value = rest
    shown: dict[str, Any] = {
        "id": alert_id,
        "alertConfigId": config_id,
        "groupId": group_id,
        "eventTypeName": event_type,
        "created": _time(created),
        "updated": _time(updated),
        "status": status,
        "tags": tags,
    }
    for name in _TARGET:
        if name in facts:
            shown[name] = facts[name]
    if "hostname" in facts:
        shown["hostnameAndPort"] = (
            f"{facts['hostname']}:{facts['port']}" if "port" in facts else facts["hostname"]
        )
    if notified is not None:
        shown["lastNotified"] = _time(notified)
    if resolved is not None:
        shown["resolved"] = _time(resolved)
    if until is not None:
        shown["acknowledgedUntil"] = _time(until)
        shown["acknowledgementComment"] = comment
        shown["acknowledgingUsername"] = username
    if metric is not None:
        shown["metricName"] = metric
        shown["currentValue"] = {"number": value, "units": _UNITS[metric]}
    shown["links"] = [{"href": f"{base}/{alert_id}", "rel": "self"}]
    return shown
