"""Parts of expensive inputs: patterns, matchers, hosts, configurations, windows and documents."""

from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

import orjson

from automation.metrics import Engine, Metric
from opsapi import clock
from opsapi.clock import wire_time
from tests.api import bodies
from tests.budgets.site import BudgetSite, Document, accepted
from tests.factories import documents
from tests.hostile.dear_patterns import built_pattern

PATTERNS = ("equals", "generated", "window", "gaps", "long window", "some counts", "counts")
"""Kinds of patterns. The last kind costs the engine most. Builds that measure patterns refuse this kind."""
MOST_REPORT = 3_900_000
_LABELS = {f"label{number}": "v" * 56 for number in range(16)}
_METRICS = [
    metric.value for metric in Metric if Engine.MONGODB in metric.spec.engines and not metric.spec.deprecated
][:40]


def matchers(kind: str, number: int, seed: int, *, fields: tuple[str, ...] = ("HOSTNAME",)) -> list[Document]:
    """Matchers that match all hosts, so that the next matcher is compared too. The patterns differ."""
    random = Random(seed)
    return [_matcher(kind, random, fields[place % len(fields)]) for place in range(number)]


def _matcher(kind: str, random: Random, field: str) -> Document:
    if kind == "equals":
        value = f"x{random.randint(0, 10**9)}"
        operator = "NOT_EQUALS" if field == "PORT" else "NOT_CONTAINS"
        value = str(random.randint(30_000, 60_000)) if field == "PORT" else value
        return {"fieldName": field, "operator": operator, "value": value}
    if field == "PORT":
        most = 200 if kind == PATTERNS[-1] else random.randint(5, 20)
        pattern = f"[^x]{{1,{most}}}.*[^y]{{1,{most}}}x|27017"
    else:
        pattern = f"{_dear(kind, random)}|db|v|{random.randint(0, 10**9)}"
    return {"fieldName": field, "operator": "REGEX", "value": pattern}


def _dear(kind: str, random: Random) -> str:
    first = random.randint(30, 60)
    match kind:
        case "counts":
            return "|".join(f"a{{{first + number}}}b" for number in range(110))
        case "some counts":
            return "|".join(f"a{{{first + number}}}b" for number in range(20))
        case "window":
            return f"a[ab]{{{first}}}c"
        case "long window":
            return f"a[ab]{{{150 + first}}}c"
        case "gaps":
            return f"([^x]{{1,{first}}}.*)+z"
    return f"(?:{built_pattern(random)})"


def hosts(number: int, *, long_names: bool = True, **changes: Any) -> list[Document]:
    """Hosts of a report. Long names suit the patterns."""
    name = f"{'a' * 60}.{'a' * 60}.{'a' * 60}.db" if long_names else "db"
    return [bodies.host(hostname=f"{name}{place}", **changes) for place in range(number)]


def measured(host: Document, metrics: int, points: int = 1) -> Document:
    """The host with this number of metrics, each at this number of moments of the last hour, up and down."""
    now = clock.now()
    moments = [wire_time(now - timedelta(seconds=3500 * place // points)) for place in range(points)]
    samples = [
        {"metricName": metric, "number": 10 * (place % 2), "timestamp": moment}
        for metric in _METRICS[:metrics]
        for place, moment in enumerate(moments)
    ]
    return {**host, "measurements": samples}


def report(*found: Document, labelled: bool = False, **changes: Any) -> bytes:
    """A report, cut to the size that is accepted."""
    labels = {"labels": _LABELS} if labelled else {}
    weight = 2_000
    kept: list[Document] = []
    for host in found:
        weight += len(orjson.dumps(host)) + 1
        if weight > MOST_REPORT:
            break
        kept.append(host)
    return orjson.dumps(bodies.report(*kept, **labels, **changes))


def config(site: BudgetSite, *, notifications: int = 1, grouped: bool = False, **changes: Any) -> Document:
    """A configuration for HOST_DOWN with this number of webhooks."""
    notified = [
        {"typeName": "WEBHOOK", "webhookUrl": site.receiver.url(f"/dear/{number}")}
        for number in range(notifications)
    ]
    grouping = {"grouping": "TOPOLOGY", "groupWaitSec": 0} if grouped else {}
    return bodies.alert_config(notifications=notified, **grouping, **changes)


def metric_config(site: BudgetSite, **changes: Any) -> Document:
    """A configuration for the metric that goes up and down."""
    threshold = {"metricName": _METRICS[0], "operator": "GREATER_THAN", "threshold": 5}
    return config(site, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=threshold, **changes)


def window(*, started: bool = True, **changes: Any) -> Document:
    """A window for hosts."""
    start = clock.now() + timedelta(minutes=-5 if started else 60)
    times = {"startDate": wire_time(start), "endDate": wire_time(start + timedelta(hours=1))}
    return bodies.window(alertTypeNames=["HOST"], **times, **changes)


RECURRENCES: Mapping[str, Document] = {
    "once": {},
    "each day": {"rrule": "FREQ=DAILY", "timeZone": "Europe/Berlin"},
}


def recurrent(kind: str) -> Document:
    """The field of a window."""
    return {"recurrence": RECURRENCES[kind]} if RECURRENCES[kind] else {}


def automation_document(processes: int, params: int, depth: int, version: int) -> bytes:
    """A document with processes that have this number of options, each in this number of objects."""

    def nested(number: int) -> Any:
        value: Any = f"value {version} {number}"
        for _ in range(depth):
            value = {"a": value}
        return value

    options = {f"p{number}": nested(number) for number in range(params)}
    made = [
        documents.process(
            name=f"db_{number}",
            hostname=f"db{number}.example.com",
            args2_6={"net": {"port": 27017}, "storage": {"dbPath": "/data"}, "setParameter": options},
        )
        for number in range(processes)
    ]
    return orjson.dumps(documents.document(version=version, processes=made))


def results(answer: Any) -> list[Document]:
    """The rows of a list."""
    rows: list[Document] = accepted(answer).json()["results"]
    return rows
