"""The wire form of a report, validated and converted to `automation.reports.rules`."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, cast

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from automation.addresses import Address
from automation.agents.rules import HEARTBEAT_TIMEOUT
from automation.choices import AgentType, HostType
from automation.desired_state.resource import REASONS
from automation.fields import DatabaseName, Labels, MetricUnit, Port
from automation.metrics import Engine, Metric, allowed_units, base_unit
from automation.plan.reasons import PlanReason
from automation.plan.values import MoveKind
from automation.reports.rules import (
    LATEST,
    NEWEST,
    OLDEST,
    EventReport,
    HostReport,
    LeaseRequest,
    ProcessReport,
    Report,
    Samples,
)
from automation.sections import LONGEST_PROCESS_NAME
from automation.turns.rules import REPORTED_STATES
from automation.units import Unit, convert
from events.types import EVENT_TYPES, EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, InvalidField, Values, invalid
from opsapi.api.errors import BadField
from opsapi.api.fields import DateTime, Flag, Hostname, ListOf, Number, OneOf, Text, Whole
from opsapi.clock import wire_time
from opsapi.redaction import redact_urls
from opsapi.wire_json import JsonObject

_METRICS = [metric.value for metric in Metric]
_METRIC_OF = {metric.value: metric for metric in Metric}
_REPORTED_TYPES = [spec.name for spec in EVENT_TYPES.values() if spec.reported]
_STAYS = "If left out, the stored value stays, unless the host has become STANDALONE and is reachable."
_ABOUT_DATA = (
    "Kept for " + " and ".join(spec.name for spec in EVENT_TYPES.values() if spec.about_data) + " only."
)
_HOST_TYPES = [host_type.value for host_type in HostType]
_TYPE = (
    "NO_DATA if the agent does not know the type: the stored type stays. The type of an unreachable host is "
    "stored only if none is known."
)
_PROBLEM = (
    "Why the agent could not measure a host that is reachable, such as a refused login. Secrets in URLs are "
    "removed."
)
_LEASE = (
    "The lease of the host, from the answer to `leases`. If another agent holds the host now, only "
    "measurements from before that change are stored."
)
MOST_METRIC_SETS = 100
LONGEST_INTERVAL = int(HEARTBEAT_TIMEOUT.total_seconds())
"""Seconds. An agent that asks less often would time out."""
_SHARING = AgentType.MONITORING.value


class RecentDateTime(DateTime):
    """A time from one hour before to five minutes after the report; with `observed`, from a day before."""

    def run_validation(self, data: Any = serializers.empty) -> datetime:
        """Return the time."""
        moment = super().run_validation(data)
        if not _is_recent(moment, oldest := self.context.get("oldest", OLDEST), self.context["now"]):
            age = "one day" if oldest == LATEST else "one hour"
            raise invalid(f"must be at most {age} old and at most five minutes in the future")
        return moment


def _is_recent(moment: datetime, oldest: timedelta, now: datetime) -> bool:
    return now - oldest - timedelta(seconds=1) < moment <= now + NEWEST


class ObservationTime(DateTime):
    """When a report was observed, from a day before to five minutes after its arrival."""

    def run_validation(self, data: Any = serializers.empty) -> datetime:
        """Return the time."""
        moment, now = super().run_validation(data), self.context["now"]
        if not _is_recent(moment, LATEST, now):
            bounds = f"from {wire_time(now - LATEST)} to {wire_time(now + NEWEST)}"
            message = f"must be at most one day old and at most five minutes in the future, {bounds}"
            raise invalid(message)
        return moment


class SampleDocument(Document):
    """A measured value."""

    refusals = (ErrorCode.UNITS_MISMATCH,)

    metricName = OneOf(_METRICS, code=ErrorCode.INVALID_METRIC_NAME)
    number = Number()
    units = MetricUnit(required=False)
    timestamp = RecentDateTime(required=False)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Check that the unit fits the metric, and convert the value to the base unit of the metric."""
        if bad & {"metricName", "number", "units"} or "metricName" not in values or "number" not in values:
            return ()
        metric = Metric(values["metricName"])
        units = Unit(values.get("units", base_unit(metric)))
        if units not in allowed_units(metric):
            allowed = [unit.value for unit in allowed_units(metric)]
            return [BadField("units", ErrorCode.UNITS_MISMATCH, f"do not fit {metric.value}", allowed)]
        values["number"] = convert(values["number"], units, base_unit(metric))
        if not isfinite(values["number"]):
            return [BadField("number", ErrorCode.INVALID_ATTRIBUTE, "is too large a number")]
        return ()


class SampleList(ListOf):
    """Measured values, converted to samples by metric. A value without a time was measured at `observed`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(SampleDocument(), max_length=10_000, required=False, **options)

    def run_validation(self, data: Any = serializers.empty) -> Samples:  # type: ignore[override]  # not a list
        """Return the samples. Raises InvalidField with every wrong value."""
        plain = self._plain_samples(data) if isinstance(data, list) and len(data) <= self.longest else None
        if plain is not None:
            return plain
        now: datetime = self.context.get("observed") or self.context["now"]
        samples: dict[Metric, list[tuple[datetime, float]]] = {}
        for value in super().run_validation(data):
            metric = Metric(value["metricName"])
            samples.setdefault(metric, []).append((value.get("timestamp", now), value["number"]))
        return samples

    def _plain_samples(self, data: list[Any]) -> Samples | None:
        """Return the samples if all are finite numbers without units; otherwise None.

        Agents send thousands of such samples. This takes a fifth of the time of the full validation.
        """
        now: datetime = self.context.get("observed") or self.context["now"]
        sample = cast(SampleDocument, self.child)
        moments: dict[str, datetime] = {}  # Most samples have the same time.
        samples: dict[Metric, list[tuple[datetime, float]]] = {}
        try:
            for item in data:
                metric, number = _METRIC_OF[item["metricName"]], item["number"]
                if len(item) == 2:
                    moment = now
                elif len(item) == 3:
                    text = item["timestamp"]
                    if text not in moments:
                        moments[text] = sample.fields["timestamp"].run_validation(text)
                    moment = moments[text]
                else:
                    return None
                if type(number) not in {int, float} or not isfinite(number := float(number)):
                    return None
                samples.setdefault(metric, []).append((moment, number))
        except (KeyError, TypeError, OverflowError, InvalidField):
            return None
        return samples


class ReportedDatabaseDocument(Document):
    """A database of a host."""

    databaseName = DatabaseName()
    measurements = SampleList(source="samples")


class ReportedHostDocument(Document):
    """A host in a report."""

    hostname = Hostname()
    port = Port()
    typeName = OneOf(_HOST_TYPES, source="type_name", help_text=_TYPE)
    reachable = Flag()
    engine = OneOf(
        [engine.value for engine in Engine],
        required=False,
        help_text="The database engine. If left out, it follows from metrics that only a single engine has; "
        "otherwise the stored value stays.",
    )
    version = Text(max_length=50, required=False)
    replicaSetName = Text(max_length=200, source="replica_set_name", required=False, help_text=_STAYS)
    clusterName = Text(max_length=200, source="cluster_name", required=False, help_text=_STAYS)
    shardName = Text(max_length=200, source="shard_name", required=False, help_text=_STAYS)
    uptimeSeconds = Whole(max_value=10**12, source="uptime_seconds", required=False)
    databases = ListOf(
        ReportedDatabaseDocument(),
        max_length=10_000,
        clearable=True,
        required=False,
        help_text="Replaces the list of the host; `[]` empties it. If left out, the stored list stays.",
    )
    measurements = SampleList(source="samples")
    lease = Text(max_length=64, required=False, help_text=_LEASE)
    problem = Text(max_length=500, single_line=False, required=False, help_text=_PROBLEM)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Refuse a repeated database."""
        names = [database["databaseName"] for database in values.get("databases", ())]
        return _named_twice("databases", "databaseName", names)


class ReportedEventDocument(Document):
    """An event that an agent observed, of a type that agents can report."""

    eventTypeName = OneOf(_REPORTED_TYPES, source="event_type")
    hostname = Hostname(required=False)
    port = Port(required=False)
    replicaSetName = Text(max_length=200, source="replica_set_name", required=False)
    clusterName = Text(max_length=200, source="cluster_name", required=False)
    shardName = Text(max_length=200, source="shard_name", required=False)
    sourceTypeName = Text(max_length=200, source="source_type_name", required=False)
    database = Text(max_length=200, required=False, help_text=_ABOUT_DATA)
    collection = Text(max_length=255, required=False, help_text=_ABOUT_DATA)
    opType = Text(max_length=50, source="op_type", required=False, help_text=_ABOUT_DATA)
    created = RecentDateTime(required=False)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Drop database, collection and operation from events of other types.

        A refusal would reject the whole report, and with it the heartbeat of the agent.
        """
        if "event_type" in values and not EventType(values["event_type"]).spec.about_data:
            for name in ("database", "collection", "op_type"):
                values.pop(name, None)
        return ()


class ReportedStepDocument(Document):
    """A step of a move."""

    step = Text(max_length=200, example="stop")
    started = DateTime(required=False)
    finished = DateTime(required=False)


class ReportedMoveDocument(Document):
    """A move of a process, and how far it is."""

    move = OneOf([kind.value for kind in MoveKind], example=MoveKind.RESTART.value)
    state = OneOf(REPORTED_STATES, example=REPORTED_STATES[0])
    detail = Text(max_length=500, required=False)
    started = DateTime(required=False)
    finished = DateTime(required=False)
    reason = Text(max_length=2000, single_line=False, required=False, help_text="Why the move failed.")
    steps = ListOf(ReportedStepDocument(), max_length=50, required=False)


class ReportedWaitDocument(Document):
    """Why the next move of a process waits."""

    reason = OneOf(REASONS, example=PlanReason.LAG_UNKNOWN.name)
    detail = Text(max_length=500, required=False)
    since = DateTime(required=False)


class ReportedPlanDocument(Document):
    """The plan of a process, as its agent carries it out."""

    goalVersion = Whole(
        source="goal_version",
        required=False,
        help_text="The version of the automation configuration that the plan leads to.",
    )
    moves = ListOf(ReportedMoveDocument(), max_length=100, required=False)
    waits = ListOf(ReportedWaitDocument(), max_length=20, required=False)


class ReportedProcessDocument(Document):
    """The progress of a process, from an automation agent."""

    name = Text(max_length=LONGEST_PROCESS_NAME, example="orders_1")
    hostname = Hostname(example="db1.example.com")
    lastGoalVersionAchieved = Whole(source="goal_version", example=1)
    errorString = Text(max_length=10_000, single_line=False, source="error", required=False)
    plan = ReportedPlanDocument(
        required=False,
        help_text="What the agent does. If left out, the status shows the plan of the platform.",
    )


def _metric_names(meaning: str) -> ListOf:
    return ListOf(Text(max_length=100), max_length=500, required=False, help_text=meaning)


class SharedHostDocument(Document):
    """A host that an agent can watch."""

    hostname = Hostname()
    port = Port()
    together = Text(
        max_length=200,
        required=False,
        help_text="Hosts with the same text go to one agent, such as the members of a replica set.",
    )
    metricSet = Whole(
        max_value=MOST_METRIC_SETS - 1,
        required=False,
        help_text="Index in metricSets, from 0, of the metric coverage of the host.",
    )


@extend_schema_serializer(component_name="MetricSetDocument")
class ReportedMetricsDocument(Document):
    """The metric coverage of a host: names of metrics by state."""

    reported = _metric_names("Metrics that are reported whenever there is a value.")
    absent = _metric_names("Metrics that this version or type of server does not have.")
    refused = _metric_names("Metrics that the user cannot read without `role`.")
    failed = _metric_names("Metrics whose query failed; the log of the agent has the cause.")
    role = Text(max_length=100, required=False, help_text="The missing role or privilege.")


class LeaseRequestDocument(Document):
    """A request for leases of hosts, which are shared among the agents that can watch them."""

    instance = Text(
        max_length=64,
        required=False,
        help_text="Distinguishes agents with the same hostname. Each agent keeps its own.",
    )
    intervalSeconds = Whole(
        min_value=1,
        max_value=LONGEST_INTERVAL,
        help_text="Interval between the requests of the agent. A lease lasts 2.5 times as long, at "
        "least 5 seconds.",
    )
    hosts = ListOf(SharedHostDocument(), max_length=10_000, required=False)
    metricSets = ListOf(ReportedMetricsDocument(), max_length=MOST_METRIC_SETS, required=False)
    stopping = Flag(required=False, help_text="Gives back all leases.")

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Refuse repeated hosts and unknown metric sets."""
        if bad & {"hosts", "metricSets"}:
            return ()
        hosts, sets = values.get("hosts", ()), len(values.get("metricSets", ()))
        return [
            *_named_twice("hosts", "hostname", [(host["hostname"].lower(), host["port"]) for host in hosts]),
            *(
                BadField(f"hosts[{place}].metricSet", ErrorCode.INVALID_ATTRIBUTE, "is not in metricSets")
                for place, host in enumerate(hosts)
                if host.get("metricSet", -1) >= sets
            ),
        ]


class ReportDocument(Document):
    """A report of an agent."""

    agentType = OneOf(
        [agent_type.value for agent_type in AgentType],
        source="agent_type",
        example=AgentType.MONITORING.value,
    )
    hostname = Hostname(example="agent1.example.com")
    version = Text(max_length=50, example="1.0")
    observed = ObservationTime(
        required=False,
        help_text="When the agent observed what the report says, at most one day old and at most five "
        "minutes in the future. Its samples and events can then be as old. Default: the time of arrival. The "
        "newest observation of a host decides; of an older observation, only the measurements are stored.",
    )
    waiting = Whole(
        required=False,
        help_text="Number of reports that wait on the disk of the agent and are sent after this report. "
        "Until a report says 0, at most for a minute, alerts about the agent's hosts do not open or close.",
    )
    labels = Labels(
        required=False,
        help_text="Labels of all hosts of the report, value by name. They replace the stored labels; `{}`"
        " removes these. Without the field, they stay.",
        example={"env": "production"},
    )
    hosts = ListOf(
        ReportedHostDocument(
            example={
                "hostname": "db1.example.com",
                "port": 27017,
                "typeName": HostType.REPLICA_PRIMARY.value,
                "reachable": True,
                "engine": Engine.MONGODB.value,
                "replicaSetName": "rs0",
                "measurements": [{"metricName": Metric.CONNECTIONS.value, "number": 812}],
            }
        ),
        max_length=10_000,
        required=False,
    )
    events = ListOf(ReportedEventDocument(), max_length=10_000, required=False)
    processes = ListOf(ReportedProcessDocument(), max_length=10_000, required=False)
    leases = LeaseRequestDocument(required=False)
    updateProblem = Text(
        max_length=500,
        required=False,
        help_text="Why the agent did not update itself, although the settings of the project say so. A "
        "report with `leases` and without this field removes the stored text.",
    )

    def run_validation(self, data: Any = serializers.empty) -> Values:
        """As `read`. The times in a report with `observed` can be a day old."""
        sent = data.get("observed") if isinstance(data, Mapping) else None
        if sent is not None:
            context = cast(dict[str, Any], self.context)
            context["oldest"] = LATEST
            with suppress(InvalidField):  # The fault is reported together with the other faults.
                context["observed"] = self.fields["observed"].run_validation(sent)
        return super().run_validation(data)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Refuse repeated hosts and processes, and leases for agents of other types."""
        addresses = [(host["hostname"].lower(), host["port"]) for host in values.get("hosts", ())]
        names = [process["name"] for process in values.get("processes", ())]
        shares = "leases" in values and values.get("agent_type", _SHARING) != _SHARING
        return [
            *_named_twice("hosts", "hostname", addresses),
            *_named_twice("processes", "name", names),
            *(
                [BadField("leases", ErrorCode.INVALID_ATTRIBUTE, f"are for {_SHARING} only")]
                if shares
                else ()
            ),
        ]


class AcceptedDocument(Document):
    """The number of accepted items of each kind."""

    hosts = serializers.IntegerField()
    measurements = serializers.IntegerField()
    events = serializers.IntegerField()


class LeaseDocument(Document):
    """A host that only this agent watches."""

    hostname = serializers.CharField()
    port = serializers.IntegerField()
    lease = serializers.CharField(help_text="Send it in reports of the host.")
    until = serializers.DateTimeField(help_text="When the lease ends, unless the agent asks again.")


class LeasesDocument(Document):
    """The answer to `leases`."""

    hosts = LeaseDocument(many=True, help_text="All hosts that the agent watches from now on.")
    askAgainInSeconds = serializers.FloatField(
        required=False, help_text="A host may become free then, before the next regular request."
    )


class ReportAnswerDocument(Document):
    """The answer to a report."""

    accepted = AcceptedDocument(example={"hosts": 1, "measurements": 1, "events": 0})
    leases = LeasesDocument(
        required=False, help_text="Only in the answer to a report with `leases`, not to a repeat."
    )


def read_report(values: Values) -> Report:
    """Convert the validated document to the form that services accept."""
    return Report(
        agent_type=AgentType(values["agent_type"]),
        hostname=values["hostname"],
        version=values["version"],
        hosts=[_host(host) for host in values.get("hosts", ())],
        events=[_event(event) for event in values.get("events", ())],
        processes=[_process(process) for process in values.get("processes", ())],
        leases=_leases(values["leases"]) if "leases" in values else None,
        labels=values.get("labels"),
        observed=values.get("observed"),
        waiting=values.get("waiting"),
        update_problem=_update_problem(values),
    )


def _update_problem(values: Values) -> str | None:
    given = values.get("updateProblem", "" if "leases" in values else None)
    return given and redact_urls(given)


def _host(values: Values) -> HostReport:
    databases = values.get("databases")
    if databases is not None:
        databases = {database["databaseName"]: database.get("samples", {}) for database in databases}
    own = {name: value for name, value in values.items() if name not in {"hostname", "port"}}
    host = {**own, "type_name": HostType(own["type_name"]), "databases": databases}
    if "engine" in own:
        host["engine"] = Engine(own["engine"])
    # A driver's error can quote the URL of the connection, whose secrets readers must not see.
    host["problem"] = redact_urls(own.get("problem") or "") or None
    return HostReport(address=Address(values["hostname"], values["port"]), **host)


def _event(values: Values) -> EventReport:
    return EventReport(**{**values, "event_type": EventType(values["event_type"])})


def _process(values: Values) -> ProcessReport:
    # The error can quote a URL of the automation document, whose secrets readers must not see.
    error = redact_urls(values.get("error") or "") or None
    plan = _stored_plan(values["plan"]) if "plan" in values else None
    return ProcessReport(**{**values, "error": error, "plan": plan})


def _stored_plan(plan: Values) -> JsonObject:
    """The plan as it is stored: with the names and times of the API, and without secrets in URLs."""
    return {
        **({"goalVersion": plan["goal_version"]} if "goal_version" in plan else {}),
        "moves": [
            {**_stored_row(move), "steps": [_stored_row(step) for step in move.get("steps", ())]}
            for move in plan.get("moves", ())
        ],
        "waits": [_stored_row(wait) for wait in plan.get("waits", ())],
    }


def _stored_row(values: Values) -> JsonObject:
    return {
        name: wire_time(value) if isinstance(value, datetime) else redact_urls(value)
        for name, value in values.items()
        if isinstance(value, (datetime, str))
    }


def _leases(values: Values) -> LeaseRequest:
    hosts = values.get("hosts", ())
    of = {
        str(Address(host["hostname"].lower(), host["port"])): host["metricSet"]
        for host in hosts
        if "metricSet" in host
    }
    return LeaseRequest(
        instance=values.get("instance", ""),
        interval=timedelta(seconds=values["intervalSeconds"]),
        hosts=[Address(host["hostname"], host["port"]) for host in hosts],
        together=[host.get("together", "") for host in hosts],
        metrics={"sets": [dict(metrics) for metrics in values.get("metricSets", ())], "hosts": of},
        stops=values.get("stopping", False),
    )


def _named_twice(path: str, field: str, names: Sequence[Any]) -> list[BadField]:
    seen: set[Any] = set()
    bad = []
    for place, name in enumerate(names):
        if name in seen:
            bad.append(BadField(f"{path}[{place}].{field}", ErrorCode.INVALID_ATTRIBUTE, "is given twice"))
        seen.add(name)
    return bad
