"""Operations that a tenant may call, with the choices that make their inputs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.utils.functional import cached_property

from opsapi import clock
from opsapi.api.links import DISCOVERY
from opsapi.clock import wire_time
from tests.api import bodies
from tests.budgets import inputs
from tests.budgets.inputs import PATTERNS, RECURRENCES
from tests.budgets.search import Choices, Genes
from tests.budgets.site import BudgetSite, Tenant, accepted

_WHOLE = ""


@dataclass(frozen=True, slots=True)
class Call:
    """The request that is measured. Paths of the API are below the project, other paths are whole."""

    method: str
    path: str
    body: Any = None


class Bench:
    """A site, with the project that reading operations share."""

    def __init__(self, site: BudgetSite, *, size: int = 1) -> None:
        """`size` divides the numbers of stored rows."""
        self.site, self.size = site, size

    @cached_property
    def full(self) -> Tenant:
        """A project with many hosts, configurations, windows, alerts and events."""
        tenant = Tenant(self.site)
        tenant.report(inputs.report(*inputs.hosts(4_000 // self.size, long_names=False), labelled=True))
        for number in range(200 // self.size):
            made = inputs.config(self.site, grouped=number % 10 == 0, enabled=number < 20)
            tenant.made("/alertConfigs", made)
        for number in range(90 // self.size):
            dear = inputs.matchers("some counts", 9, number, fields=("HOSTNAME", "LABEL"))
            never = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "never"}
            tenant.send("POST", "/maintenanceWindows", inputs.window(matchers=[*dear, never]))
        named = inputs.hosts(200 // self.size, long_names=False)
        measured = [inputs.measured(host, 20, 30) for host in named]
        for part in range(0, len(measured), 25):
            tenant.report(inputs.report(*measured[part : part + 25]))
        for reachable in (False, True, False):
            tenant.report(inputs.report(*({**host, "reachable": reachable} for host in named)))
            tenant.waits_idle()
        return tenant


Prepare = Callable[[Bench, Tenant, Genes], Call]
"""Stores what the input needs, and returns the request. Raises RefusedError if it is refused."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: its choices, and how to make its input."""

    name: str
    choices: Choices
    prepare: Prepare
    reads: bool = False
    """Whether it reads the project that is shared, and stores nothing."""


def _report(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    members = {"replicaSetName": "rs", "clusterName": "c", "shardName": "s"} if genes["units"] else {}
    databases = [
        {"databaseName": f"d{number}", "measurements": [{"metricName": "DB_DATA_SIZE_TOTAL", "number": 1}]}
        for number in range(genes["databases"])
    ]
    found = [
        inputs.measured(
            {**host, **{name: f"{value}{place}" for name, value in members.items()}, "databases": databases},
            genes["metrics"],
        )
        for place, host in enumerate(inputs.hosts(genes["hosts"], long_names=genes["long"]))
    ]
    return Call("POST", tenant.reports, inputs.report(*found, labelled=genes["labels"]))


def _events(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    tenant.made("/alertConfigs", inputs.config(bench.site, eventTypeName="HOST_ROLLBACK"))
    event = {"eventTypeName": genes["type"], "hostname": "db1.example.com", "port": 27017}
    return Call("POST", tenant.reports, inputs.report(bodies.host(), events=[event] * genes["events"]))


def _evaluation(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    for number in range(genes["configurations"]):
        found = inputs.matchers(genes["pattern"], genes["matchers"], number)
        wanted = inputs.config(
            bench.site, notifications=genes["notifications"], matchers=found, grouped=genes["grouped"]
        )
        tenant.made("/alertConfigs", wanted)
    return Call("POST", tenant.reports, inputs.report(*inputs.hosts(genes["hosts"], reachable=False)))


def _mute(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    for _ in range(genes["configurations"]):
        tenant.made("/alertConfigs", inputs.config(bench.site, notifications=genes["notifications"]))
    never = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "never"}
    for number in range(genes["windows"]):
        dear = inputs.matchers(genes["pattern"], genes["matchers"], number, fields=("HOSTNAME", "LABEL"))
        tenant.made(
            "/maintenanceWindows", inputs.window(matchers=[*dear, never], **inputs.recurrent(genes["rule"]))
        )
    found = inputs.hosts(genes["hosts"], reachable=False)
    return Call("POST", tenant.reports, inputs.report(*found, labelled=True))


def _save_config(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    tenant.report(inputs.report(*inputs.hosts(genes["hosts"], reachable=False)))
    found = inputs.matchers(genes["pattern"], genes["matchers"], 1, fields=(genes["field"],))
    return Call(
        "POST",
        "/alertConfigs",
        inputs.config(bench.site, notifications=genes["notifications"], matchers=found),
    )


def _save_window(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    found = inputs.matchers(genes["pattern"], genes["matchers"], 1, fields=("HOSTNAME", "PORT"))
    return Call(
        "POST", "/maintenanceWindows", inputs.window(matchers=found, **inputs.recurrent(genes["rule"]))
    )


def _preview(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    tenant.report(inputs.report(*inputs.hosts(genes["hosts"]), labelled=True))
    found = inputs.matchers(genes["pattern"], genes["matchers"], 1, fields=("HOSTNAME", "LABEL"))
    made = inputs.window(matchers=found, **inputs.recurrent(genes["rule"]))
    return Call("POST", "/maintenanceWindows/preview", made)


def _dry_run(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    named = inputs.hosts(genes["hosts"])
    for start in range(0, len(named), 50):
        found = [inputs.measured(host, 2, genes["points"]) for host in named[start : start + 50]]
        tenant.report(inputs.report(*found, labelled=True))
    matching = inputs.matchers(genes["pattern"], genes["matchers"], 1)
    made = inputs.metric_config(
        bench.site, notifications=genes["notifications"], matchers=matching, grouped=genes["grouped"]
    )
    return Call("POST", "/alertConfigs/dryRun", {"config": made, "period": "P7D"})


def _explanation(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    never = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "never"}
    for number in range(genes["windows"]):
        dear = inputs.matchers(genes["pattern"], genes["matchers"], number, fields=("HOSTNAME", "LABEL"))
        tenant.made("/maintenanceWindows", inputs.window(matchers=[*dear, never]))
    tenant.made("/alertConfigs", inputs.config(bench.site, notifications=genes["notifications"]))
    tenant.report(inputs.report(*inputs.hosts(2, reachable=False), labelled=True))
    tenant.waits_idle()
    (alert, *_) = inputs.results(tenant.send("GET", "/alerts"))
    return Call("GET", f"/alerts/{alert['id']}/explanation")


def _incident(bench: Bench, tenant: Tenant, genes: Genes) -> str:
    """An incident of this number of hosts. Returns the path of its first alert."""
    made = inputs.config(bench.site, notifications=genes["notifications"], grouped=True)
    tenant.made("/alertConfigs", made)
    members = [
        {**host, "replicaSetName": "rs"}
        for host in inputs.hosts(genes["hosts"], long_names=False, reachable=False)
    ]
    for start in range(0, len(members), 1_000):
        tenant.report(inputs.report(*members[start : start + 1_000]))
    tenant.waits_idle()
    (alert, *_) = inputs.results(tenant.send("GET", "/alerts?itemsPerPage=1"))
    return f"/alerts/{alert['id']}"


def _acknowledge(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    until = wire_time(clock.now() + timedelta(hours=1))
    return Call("PATCH", _incident(bench, tenant, genes), {"acknowledgedUntil": until})


def _notifications(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    return Call("GET", f"{_incident(bench, tenant, genes)}/notifications?itemsPerPage=500")


def _explain(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    tenant.report(inputs.report(*inputs.hosts(genes["hosts"]), labelled=True))
    found = inputs.matchers(genes["pattern"], genes["matchers"], 1)
    made = tenant.made("/alertConfigs", inputs.config(bench.site, matchers=found))
    (host, *_) = inputs.results(tenant.send("GET", "/hosts"))
    return Call("POST", f"/alertConfigs/{made['id']}/explain", {"hostId": host["id"]})


def _automation(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    made = inputs.automation_document(genes["processes"], genes["options"], genes["depth"], version=0)
    accepted(tenant.send("PUT", "/automationConfig", made))
    changed = inputs.automation_document(genes["processes"], genes["options"], genes["depth"], version=1)
    return Call("PUT", "/automationConfig", changed)


def _versions(bench: Bench, tenant: Tenant, genes: Genes) -> int:
    """Publishes several versions of a document. Their processes have got to different versions."""
    sizes = genes["processes"], genes["options"], 1
    for version in range(genes["versions"]):
        made = inputs.automation_document(*sizes, version=version)
        accepted(tenant.send("PUT", "/automationConfig", made))
    states = [
        {
            "name": f"db_{number}",
            "hostname": f"db{number}.example.com",
            "lastGoalVersionAchieved": 1 + number % genes["versions"],
        }
        for number in range(genes["processes"])
    ]
    tenant.report(inputs.report(agentType="AUTOMATION", processes=states))
    newest: int = genes["versions"]
    return newest


def _progress(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    _versions(bench, tenant, genes)
    return Call("GET", "/automationStatus")


def _turn(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    _versions(bench, tenant, genes)
    asked = {"hostname": "db0.example.com", "process": "db_0", "move": "RESTART", "requestId": "first"}
    return Call("POST", tenant.turns, asked)


def _revision(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    number = _versions(bench, tenant, genes)
    query = (
        f"SELECT id FROM automation_automationrevision WHERE group_id = '{tenant.id}' AND number = {number}"  # noqa: S608 - an id
    )
    return Call("GET", f"/admin/automation/automationrevision/{bench.site.platform.ask(query)}/change/")


def _part(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    _versions(bench, tenant, genes)
    return Call("GET", f"{tenant.automation}?hostname=db0.example.com")


def _automation_dry_run(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    version = _versions(bench, tenant, genes)
    changed = inputs.automation_document(genes["processes"], genes["options"], 1, version=version)
    return Call("PUT", "/automationConfig?dryRun=true", changed)


def _restore(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    _versions(bench, tenant, genes)
    return Call("POST", "/automationConfig/revisions/1/restore", {})


def _leases(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    listed = [
        {"hostname": host["hostname"], "port": host["port"]}
        for host in inputs.hosts(genes["hosts"], long_names=False)
    ]
    for number in range(genes["agents"]):
        asked = {"instance": f"agent{number}", "intervalSeconds": 60, "hosts": listed}
        answer = Call("POST", tenant.reports, inputs.report(hostname=f"agent{number}", leases=asked))
        if number < genes["agents"] - 1:
            tenant.report(answer.body)
    return answer


def _change_config(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    """The change cancels all alerts of the configuration, and the fleet is evaluated again."""
    made = tenant.made("/alertConfigs", inputs.config(bench.site, notifications=genes["notifications"]))
    tenant.report(inputs.report(*inputs.hosts(genes["hosts"], reachable=False)))
    tenant.waits_idle()
    found = inputs.matchers(genes["pattern"], genes["matchers"], 1)
    return Call("PATCH", f"/alertConfigs/{made['id']}", {"matchers": found})


def _delete_project(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    for _ in range(genes["configurations"]):
        tenant.made("/alertConfigs", inputs.config(bench.site))
    named = inputs.hosts(genes["hosts"], long_names=False, reachable=False)
    databases = [{"databaseName": f"d{number}"} for number in range(genes["databases"])]
    tenant.report(inputs.report(*({**host, "databases": databases} for host in named), labelled=True))
    tenant.waits_idle()
    return Call("DELETE", _WHOLE)


def _presets(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    tenant.report(inputs.report(*inputs.hosts(genes["hosts"], reachable=False)))
    return Call("POST", "/alertConfigs/presets", bodies.presets(engine=genes["engine"]))


def _noise(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    group = {"group__id__exact": tenant.id} if genes["of project"] else {}
    return Call("GET", f"/admin/alerting/alertconfig/?{urlencode({'o': genes['sorted by'], **group})}")


def _list(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    paging = {"itemsPerPage": genes["rows"], "pageNum": genes["page"], "includeCount": "true"}
    return Call("GET", f"/{genes['of']}?{urlencode(paging)}")


def _search(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    # Events are found by filters: `q` accepts only an ID.
    name = "host" if genes["of"] == "events/event" else "q"
    return Call("GET", f"/admin/{genes['of']}/?{urlencode({name: genes['text']})}")


def _export(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    project = {"project": tenant.id} if genes["of project"] else {}
    found = _EVENT_FILTERS[genes["filter"]]
    return Call("GET", f"/admin/events/event/csv/?{urlencode({**project, **found})}")


def _databases(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    named = {"databases": [{"databaseName": f"d{number}"} for number in range(genes["databases"])]}
    tenant.report(inputs.report(bodies.host(**named)))
    (host,) = inputs.results(tenant.send("GET", "/hosts"))
    return Call("GET", f"/hosts/{host['id']}/databases?itemsPerPage=500&includeCount=true")


def _discovery(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    tenant.report(inputs.report(*inputs.hosts(genes["hosts"], long_names=False), labelled=genes["labels"]))
    return Call("GET", f"{DISCOVERY}/groups/{tenant.id}/discovery")


def _measurements(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    (host, *_) = inputs.results(tenant.send("GET", "/hosts"))
    query = {"granularity": genes["granularity"], "period": genes["period"]}
    return Call("GET", f"/hosts/{host['id']}/measurements?{urlencode(query)}")


def _measurements_of_many(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    rows = inputs.results(tenant.send("GET", f"/hosts?itemsPerPage={genes['hosts']}"))
    query = {"granularity": genes["granularity"], "period": "P1D", "m": "ASSERT_REGULAR"}
    more = {"aggregate": genes["aggregate"]} if genes["aggregate"] else {}
    chosen = {**query, **more, "hostId": [row["id"] for row in rows]}
    return Call("GET", f"/measurements?{urlencode(chosen, doseq=True)}")


def _page(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    project = {"project": tenant.id} if genes["of project"] else {}
    return Call("GET", f"/admin/{genes['of']}?{urlencode(project)}")


def _status(bench: Bench, tenant: Tenant, genes: Genes) -> Call:
    return Call("GET", f"/{genes['of']}")


_MATCHED: Choices = {"pattern": PATTERNS, "matchers": (1, 10, 50)}
_OF_VERSIONS: Choices = {"processes": (1, 500, 5_000), "options": (0, 20, 200), "versions": (1, 2, 6)}
_OF_INCIDENT: Choices = {"hosts": (10, 1_000, 5_000), "notifications": (1, 5)}
_OF_WINDOW: Choices = {"pattern": PATTERNS, "matchers": (1, 9)}
_TEXTS = ("db1", "% _%", "a" * 200, "HOST")
_EVENT_FILTERS = {
    "unknown ID": {"q": "0" * 24},
    "unknown user": {"who": "nobody"},
    "unknown host": {"host": "a" * 200},
    "unknown address": {"address": "192.0.2.1"},
    "host": {"host": "db1.example.com"},
    "last hour": {"last": "hour"},
    "type": {"type": "HOST_DOWN"},
    "all": {},
}

OPERATIONS = (
    Operation(
        "report of hosts",
        {
            "hosts": (1, 200, 10_000),
            "metrics": (0, 5, 40),
            "databases": (0, 20),
            "units": (False, True),
            "labels": (False, True),
            "long": (False, True),
        },
        _report,
    ),
    Operation(
        "report of events", {"type": ("HOST_DOWN", "HOST_ROLLBACK"), "events": (1, 1_000, 10_000)}, _events
    ),
    Operation(
        "evaluation of a report",
        {
            **_MATCHED,
            "configurations": (1, 40, 100),
            "hosts": (10, 200),
            "notifications": (1, 5),
            "grouped": (False, True),
        },
        _evaluation,
    ),
    Operation(
        "decisions about windows",
        {
            **_OF_WINDOW,
            "rule": tuple(RECURRENCES),
            "windows": (1, 30, 90),
            "configurations": (1, 2),
            "notifications": (1, 5),
            "hosts": (10, 200),
        },
        _mute,
    ),
    Operation(
        "save an alert configuration",
        {**_MATCHED, "field": ("HOSTNAME", "PORT"), "notifications": (1, 50), "hosts": (10, 2_000)},
        _save_config,
    ),
    Operation(
        "change an alert configuration",
        {**_MATCHED, "notifications": (1, 5), "hosts": (10, 1_000)},
        _change_config,
    ),
    Operation("save a window", {**_OF_WINDOW, "rule": tuple(RECURRENCES)}, _save_window),
    Operation(
        "preview of a window",
        {**_OF_WINDOW, "rule": tuple(RECURRENCES), "hosts": (10, 2_000, 8_000)},
        _preview,
    ),
    Operation(
        "dry run",
        {
            **_MATCHED,
            "hosts": (10, 500),
            "points": (1, 60),
            "notifications": (1, 50),
            "grouped": (False, True),
        },
        _dry_run,
    ),
    Operation(
        "explanation of an alert",
        {**_OF_WINDOW, "windows": (1, 90), "notifications": (1, 50)},
        _explanation,
    ),
    Operation("acknowledgement of an incident", _OF_INCIDENT, _acknowledge),
    Operation("notifications of an incident", _OF_INCIDENT, _notifications),
    Operation("explanation of a host", {**_MATCHED, "hosts": (10, 5_000)}, _explain),
    Operation(
        "publish an automation document",
        {"processes": (1, 500, 5_000), "options": (0, 20, 200), "depth": (0, 10)},
        _automation,
    ),
    Operation("progress of an automation document", _OF_VERSIONS, _progress),
    Operation("dry run of an automation document", _OF_VERSIONS, _automation_dry_run),
    Operation("restore of a revision", _OF_VERSIONS, _restore),
    Operation("document of a machine", _OF_VERSIONS, _part),
    Operation("turn of an agent", _OF_VERSIONS, _turn),
    Operation("page of a revision", _OF_VERSIONS, _revision),
    Operation("shares of agents", {"agents": (1, 4, 20), "hosts": (10, 1_000, 10_000)}, _leases),
    Operation("add presets", {"engine": ("POSTGRESQL", "MONGODB"), "hosts": (10, 5_000)}, _presets),
    Operation(
        "delete a project",
        {"configurations": (1, 5), "databases": (0, 20), "hosts": (10, 1_000)},
        _delete_project,
    ),
    Operation(
        "noise of configurations",
        {"sorted by": ("", "1", "-4", "-5", "-6", "-7", "-8"), "of project": (True, False)},
        _noise,
        reads=True,
    ),
    Operation(
        "list",
        {
            "of": ("maintenanceWindows", "clusters", "alertConfigs", "hosts", "events", "alerts"),
            "rows": (1, 500),
            "page": (2_147_483_647, 10, 1),
        },
        _list,
        reads=True,
    ),
    Operation("databases of a host", {"databases": (1, 100, 10_000)}, _databases),
    Operation("hosts for scrapers", {"hosts": (10, 1_000, 10_000), "labels": (False, True)}, _discovery),
    Operation(
        "search in the console",
        {
            "of": ("automation/host", "alerting/notification", "alerting/alert", "events/event"),
            "text": _TEXTS,
        },
        _search,
        reads=True,
    ),
    Operation(
        "events as CSV",
        {"filter": tuple(_EVENT_FILTERS), "of project": (True, False)},
        _export,
        reads=True,
    ),
    Operation(
        "measurements of a host",
        {"granularity": ("PT1H", "PT5M", "PT1M"), "period": ("PT1H", "P1D", "P3D")},
        _measurements,
        reads=True,
    ),
    Operation(
        "measurements of many hosts",
        {"granularity": ("PT1H", "PT5M", "PT1M"), "aggregate": ("", "MAX", "P95"), "hosts": (1, 100)},
        _measurements_of_many,
        reads=True,
    ),
    Operation(
        "page of the console",
        {
            "of": (
                "",
                "quiet-times/",
                "shift-report/",
                "alert-timeline/",
                "automation-plan/",
                "system-health/",
            ),
            "of project": (True, False),
        },
        _page,
        reads=True,
    ),
    Operation("status", {"of": ("automationStatus", "agents", "alertConfigs/presets")}, _status, reads=True),
)
