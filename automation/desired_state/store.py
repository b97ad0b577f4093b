"""Reading the automation configuration, its revisions, and the progress of its processes."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Case, Func, IntegerField, JSONField, Q, QuerySet, Value, When

from automation.addresses import Address
from automation.agents.rules import HEARTBEAT_TIMEOUT
from automation.choices import HostType
from automation.desired_state.document.publish import NEW_PROJECT, Publication
from automation.desired_state.document.text import read
from automation.desired_state.models import AutomationRevision, ProcessStatus
from automation.hosts.models import Host
from automation.hosts.rules import role
from automation.hosts.store import hosts_at, known_addresses
from automation.plan.auth import auth_change
from automation.plan.places import KnownPlaces, known_places
from automation.plan.reading import read_goal
from automation.plan.reported import DrawnPlan, FleetReports, ReportedProcess, drawn_plan
from automation.plan.values import MemberState, PlanHold
from automation.sections import Section, process_addresses, process_name, processes
from opsapi.api.bodies import LARGE_BODIES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, unavailable
from opsapi.encryption import CannotDecryptError, decrypt
from opsapi.fields import Among

logger = logging.getLogger("opsapi.automation")

_STATES = {
    "STANDALONE": MemberState.STANDALONE,
    "PRIMARY": MemberState.PRIMARY,
    "SECONDARY": MemberState.SECONDARY,
    "ARBITER": MemberState.ARBITER,
    "RECOVERING": MemberState.RECOVERING,
    "MONGOS": MemberState.ROUTER,
}
"""The states that the roles of hosts mean. The type of a config server does not show its role."""


def revisions_of(group_id: str) -> QuerySet[AutomationRevision]:
    """Return the revisions of a project, newest first."""
    return AutomationRevision.objects.filter(group_id=group_id).order_by("-number")


def goal_version(group_id: str) -> int:
    """Return the current version of a project's automation configuration; 0 before the first publication."""
    newest = revisions_of(group_id).values_list("number", flat=True).first()
    return newest or 0


def wanted_agent_version(group_id: str) -> str:
    """Return the version of the platform's agent that the current configuration asks for; empty for none."""
    return revisions_of(group_id).values_list("agent_version", flat=True).first() or ""


def newest_revision(group_id: str) -> AutomationRevision | None:
    """Return the newest revision of a project; None before the first publication."""
    return _without_documents(group_id).first()


def revision_at(number: int, *, group_id: str) -> AutomationRevision | None:
    """Return the revision with this number; None if it does not exist. Version 0 has no revision."""
    return _without_documents(group_id).filter(number=number).first()


def goal_document(group_id: str) -> Mapping[str, Any]:
    """Return the current automation configuration of a project, with its secrets.

    Raises: ApiError: as `revision_text`.
    """
    newest = newest_revision(group_id)
    return read(revision_text(newest)) if newest else NEW_PROJECT


def document_at(number: int, *, group_id: str) -> Mapping[str, Any] | None:
    """Return the document of a version, with its secrets; None if it does not exist.

    Version 0 is the initial document.

    Raises: ApiError: as `revision_text`.
    """
    if number == NEW_PROJECT["version"]:
        return NEW_PROJECT
    revision = revision_at(number, group_id=group_id)
    return read(revision_text(revision)) if revision else None


@contextmanager
def documents_room(numbers: Collection[int], *, group_id: str) -> Iterator[None]:
    """Run the block, which reads the documents of these versions. They count as large bodies.

    Raises: ApiError: RATE_LIMITED, if large bodies and documents leave no room.
    """
    octets = Func("document", function="octet_length", output_field=IntegerField())
    sizes = revisions_of(group_id).filter(number__in=numbers).annotate(octets=octets)
    with LARGE_BODIES.taking(sum(sizes.values_list("octets", flat=True)), group_id=group_id):
        yield


def _without_documents(group_id: str) -> QuerySet[AutomationRevision]:
    """Documents are large, so a document is read when it is accessed."""
    return revisions_of(group_id).only("group_id", "number", "masked_by")


def revision_text(revision: AutomationRevision) -> str:
    """Return the text of a revision's document, with its secrets.

    Raises: ApiError: SERVICE_UNAVAILABLE, if the encryption key of the document is no longer configured.
    GROUP_NOT_FOUND, as `stored`.
    """
    return opened(revision, stored(revision, "document"))


def stored(revision: AutomationRevision, column: str) -> str | None:
    """Return the value of a deferred column, which this reads from the database.

    Raises: ApiError: GROUP_NOT_FOUND, if the revision was deleted with its project meanwhile.
    """
    try:
        value: str | None = getattr(revision, column)
    except AutomationRevision.DoesNotExist:
        raise ApiError(ErrorCode.GROUP_NOT_FOUND, revision.group_id) from None
    return value


def opened(revision: AutomationRevision, encrypted: str | None) -> str:
    """Decrypt a text of a revision. Raises ApiError as `revision_text`."""
    try:
        return decrypt(encrypted or "", owner=revision.id)
    except CannotDecryptError as error:
        logger.error("an automation configuration of project %s: %s", revision.group_id, error)
        raise unavailable(
            f"version {revision.number} cannot be read without its encryption key, which is not in "
            "OPSAPI_ENCRYPTION_KEYS"
        ) from None


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The version of the configuration that a process has reached; 0 before the first report."""

    name: str
    hostname: str
    goal_version: int
    error: str | None = None
    plan: Mapping[str, Any] | None = None


def process_states(wanted: Iterable[tuple[str, str]], reported: Iterable[ProcessState]) -> list[ProcessState]:
    """By name: the processes of the document by name and hostname, and other reported processes.

    A process without a report has reached nothing, so a client that waits for all processes waits for it,
    too.
    """
    states = {name: ProcessState(name, hostname, 0) for name, hostname in wanted}
    states |= {process.name: process for process in reported}
    return sorted(states.values(), key=lambda process: process.name)


def process_status(group_id: str, now: datetime) -> tuple[int, list[ProcessState]]:
    """Return the current version, and the version that each process has reached.

    A process that is not in the document is listed while an agent reports it.
    """
    newest = revisions_of(group_id).values_list("number", "processes").first()
    version, wanted = newest or (0, [])
    is_meant = Q(Among("name", [name for name, _ in wanted])) | Q(reported__gt=now - HEARTBEAT_TIMEOUT)
    statuses = ProcessStatus.objects.filter(is_meant, group_id=group_id)
    is_recent = Q(reported__gt=now - HEARTBEAT_TIMEOUT)
    plan = Case(When(is_recent, then="plan"), default=Value(None), output_field=JSONField())
    reported = statuses.values_list("name", "hostname", "goal_version", "error", plan)
    return version, process_states(wanted, (ProcessState(*row) for row in reported))


def publication_plan(
    group_id: str, publication: Publication, now: datetime, *, standing: Sequence[PlanHold]
) -> DrawnPlan:
    """Return the plan that follows from publishing a document and from the reports of its processes.

    `standing`: why its moves would not begin, which the plan says, too.
    """
    old, new = read_goal(publication.old), read_goal(publication.new)
    before = {process_name(process): process for process in processes(publication.old).values()}
    change = auth_change(publication.old, publication.new)
    drawn = drawn_plan(old, new, fleet_reports(group_id, publication.new, before), now, change)
    return replace(drawn, holds=(*standing, *drawn.holds))


def hosts_of_processes(
    group_id: str, document: Mapping[str, Any], names: Collection[str]
) -> dict[str, list[Host]]:
    """Return the hosts at all addresses of the processes of a document with these names, by the process.

    Hosts that an agent has reached are first, and then the host at the alias.
    """
    wanted = frozenset(names)
    keys = {
        name: [address.key for address in process_addresses(process)]
        for process in processes(document).values()
        if (name := process_name(process)) in wanted
    }
    hosts = hosts_at(group_id, {key for of_process in keys.values() for key in of_process})
    by_name = {name: [hosts[key] for key in of_process if key in hosts] for name, of_process in keys.items()}
    return {
        name: sorted(of_process, key=lambda host: reported_process(host) is None)
        for name, of_process in by_name.items()
        if of_process
    }


def new_addresses(group_id: str, document: Mapping[str, Any]) -> list[Address]:
    """Return the preferred addresses of the processes of a document that have no host at another address."""
    listed = [process_addresses(process) for process in processes(document).values()]
    others = {address.key for addresses in listed for address in addresses[1:]}
    known = known_addresses(group_id, others) if others else set()
    missing = [
        addresses[0]
        for addresses in listed
        if addresses and not any(address.key in known for address in addresses[1:])
    ]
    return list({address.key: address for address in missing}.values())


def fleet_reports(group_id: str, document: Mapping[str, Any], before: Mapping[str, Section]) -> FleetReports:
    """Return the newest reports of the processes of a document, and of other members of its replica sets.

    `before`: the processes of the document before, by name. Their addresses and names can have changed.
    """
    now = {process_name(process): process for process in processes(document).values()}
    named = hosts_of_processes(group_id, document, now.keys())
    reports = {name: seen for name, hosts in named.items() if (seen := reported_process(hosts[0]))}
    known = known_places(now, before, reports)
    by_key = {key: name for name, keys in known.moved.items() for key in keys}
    for key, host in hosts_at(group_id, by_key.keys()).items():
        if seen := reported_process(host):
            reports.setdefault(by_key[key], seen)
    sets = [unit.replica_set for unit in read_goal(document).units if unit.replica_set]
    statuses = ProcessStatus.objects.filter(Among("name", now.keys()), group_id=group_id)
    return FleetReports(
        hosts=reports,
        others=_hosts_without_process(group_id, sets, known),
        reached=dict(statuses.values_list("name", "goal_version")),
        renamed=known.renamed,
    )


def _hosts_without_process(
    group_id: str, sets: Sequence[str], known: KnownPlaces
) -> dict[str, dict[str, ReportedProcess]]:
    """Return the hosts of replica sets that are no process of the document, by replica set and name."""
    by_set: dict[str, dict[str, ReportedProcess]] = {}
    members = Host.objects.filter(Among("replica_set_name", list(sets)), group_id=group_id)
    for host in members.order_by("hostname", "port") if sets else ():
        name, reported = known.name_at(host.address), reported_process(host)
        if name is not None and reported is not None and host.replica_set_name is not None:
            by_set.setdefault(host.replica_set_name, {})[name] = reported
    return by_set


def reported_process(host: Host) -> ReportedProcess | None:
    """Return the newest report of a host; None if no agent has reached it."""
    is_known = host.type_name != HostType.NO_DATA.value and not host.type_guessed
    if host.observed is None or not (is_known or host.version):
        return None
    state = None if host.type_unknown else _STATES.get(role(HostType(host.type_name)))
    return ReportedProcess(host.down, state, host.version, host.observed)
