"""Which subjects match the matchers of an alert configuration or a maintenance window.

A fact that a subject does not have is the empty string: EQUALS fails on it, NOT_EQUALS and
NOT_CONTAINS match, a REGEX matches if it matches the empty string.

LABEL is for windows only. It compares each label of a host, as `name=value`: NOT_EQUALS and NOT_CONTAINS
match if no label equals or contains the value, the other operators if a label matches. A replica set or a
cluster matches if all its hosts do, so that a window mutes nothing about other hosts.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from alerting.configs.patterns import LAST_PORT, finds, finds_a_port
from automation.choices import HostType
from automation.labels import LabelSets, is_label
from events.types import Category
from opsapi.hostnames import host_and_port


class MatcherField(StrEnum):
    """The field that a matcher compares; the values are the wire values of fieldName."""

    HOSTNAME = "HOSTNAME"
    PORT = "PORT"
    HOSTNAME_AND_PORT = "HOSTNAME_AND_PORT"
    REPLICA_SET_NAME = "REPLICA_SET_NAME"
    TYPE_NAME = "TYPE_NAME"
    SHARD_NAME = "SHARD_NAME"
    CLUSTER_NAME = "CLUSTER_NAME"
    LABEL = "LABEL"


LABEL_SETS_AT_ONCE: Final = 4
"""The most hosts whose labels are compared in one step."""
CONFIG_FIELDS: Final = [field.value for field in MatcherField if field is not MatcherField.LABEL]
"""The fields of alert configurations, as in the contract."""


class MatcherOperator(StrEnum):
    """The comparison of a matcher; the values are the wire values of operator."""

    EQUALS = "EQUALS"
    NOT_EQUALS = "NOT_EQUALS"
    CONTAINS = "CONTAINS"
    NOT_CONTAINS = "NOT_CONTAINS"
    STARTS_WITH = "STARTS_WITH"
    ENDS_WITH = "ENDS_WITH"
    REGEX = "REGEX"


@dataclass(frozen=True)
class Matcher:
    """One rule; a REGEX value has passed `compile_regex`."""

    field: MatcherField
    operator: MatcherOperator
    value: str


@dataclass(frozen=True)
class MatchSubject:
    """The facts about the subject of a signal; `type_name` is the typeName of the host as reported.

    `labels` are the labels of its hosts.
    """

    hostname: str | None = None
    port: int | None = None
    type_name: str | None = None
    replica_set_name: str | None = None
    shard_name: str | None = None
    cluster_name: str | None = None
    labels: LabelSets = ()


def matcher_of(values: Mapping[str, str]) -> Matcher:
    """Return the matcher of a valid document, which is stored as it is."""
    return Matcher(MatcherField(values["fieldName"]), MatcherOperator(values["operator"]), values["value"])


def subject_of(
    facts: Mapping[str, Any], *, type_name: str | None = None, labels: LabelSets = ()
) -> MatchSubject:
    """Return the subject of a signal, an alert or an event from its facts, by wire name.

    Alerts and events do not have the typeName of their host: `type_name` is used instead.
    """
    return MatchSubject(
        hostname=facts.get("hostname"),
        port=facts.get("port"),
        type_name=facts.get("typeName", type_name),
        replica_set_name=facts.get("replicaSetName"),
        shard_name=facts.get("shardName"),
        cluster_name=facts.get("clusterName"),
        labels=labels,
    )


def hosts_matcher(names: Sequence[str]) -> dict[str, str]:
    """The document of a matcher of these hosts, each as `hostname:port`."""
    return names_matcher(MatcherField.HOSTNAME_AND_PORT, names)


def names_matcher(field: MatcherField, names: Sequence[str]) -> dict[str, str]:
    """The document of a matcher of a field that has one of these values."""
    if len(names) == 1:
        chosen, value = MatcherOperator.EQUALS, names[0]
    else:
        escaped = "|".join(_ESCAPED.sub(_ESCAPE, name) for name in names)
        chosen, value = MatcherOperator.REGEX, f"^({escaped})$"
    return {"fieldName": field.value, "operator": chosen.value, "value": value}


def matched_hosts(matcher: Mapping[str, str]) -> list[str]:
    """The hosts of a matcher that `hosts_matcher` could have returned; none for another matcher."""
    value = matcher["value"]
    names = [value]
    if matcher["operator"] == MatcherOperator.REGEX.value:
        names = [
            re.sub(r"\\(.)", r"\1", name) for name in value.removeprefix("^(").removesuffix(")$").split("|")
        ]
    return names if hosts_matcher(names) == matcher else []


_ESCAPED = re.compile(r"([^A-Za-z0-9:_-])")
_ESCAPE = r"\\\1"


_FIELDS: Mapping[Category, tuple[MatcherField, ...]] = {
    Category.HOST: (
        MatcherField.HOSTNAME,
        MatcherField.PORT,
        MatcherField.HOSTNAME_AND_PORT,
        MatcherField.REPLICA_SET_NAME,
        MatcherField.TYPE_NAME,
    ),
    Category.REPLICA_SET: (
        MatcherField.REPLICA_SET_NAME,
        MatcherField.SHARD_NAME,
        MatcherField.CLUSTER_NAME,
    ),
    Category.CLUSTER: (MatcherField.CLUSTER_NAME, MatcherField.SHARD_NAME),
}

_ALL_PORTS = "".join(f"\n{port}" for port in range(1, LAST_PORT + 1)) + "\n"

_EQUALITIES = frozenset({MatcherOperator.EQUALS, MatcherOperator.NOT_EQUALS})
_NEGATED = frozenset({MatcherOperator.NOT_EQUALS, MatcherOperator.NOT_CONTAINS})

CASELESS: Final = frozenset({MatcherField.HOSTNAME, MatcherField.HOSTNAME_AND_PORT})
"""Fields that are compared without regard to case, because host names are."""

_COMPARISONS: Mapping[MatcherOperator, Callable[[str, str], bool]] = {
    MatcherOperator.EQUALS: operator.eq,
    MatcherOperator.NOT_EQUALS: operator.ne,
    MatcherOperator.CONTAINS: lambda fact, wanted: wanted in fact,
    MatcherOperator.NOT_CONTAINS: lambda fact, wanted: wanted not in fact,
    MatcherOperator.STARTS_WITH: str.startswith,
    MatcherOperator.ENDS_WITH: str.endswith,
}


def _port(subject: MatchSubject) -> str:
    return "" if subject.port is None else str(subject.port)


def _hostname_and_port(subject: MatchSubject) -> str:
    if not subject.hostname or subject.port is None:
        return ""
    return host_and_port(subject.hostname, subject.port)


def _type_name(subject: MatchSubject) -> str:
    return (subject.type_name or "").removeprefix("REPLICA_").removeprefix("SHARD_")


TYPE_NAMES = sorted({_type_name(MatchSubject(type_name=host_type.value)) for host_type in HostType})
"""The values of TYPE_NAME."""


_FACTS: Mapping[MatcherField, Callable[[MatchSubject], str]] = {
    MatcherField.HOSTNAME: lambda subject: subject.hostname or "",
    MatcherField.PORT: _port,
    MatcherField.HOSTNAME_AND_PORT: _hostname_and_port,
    MatcherField.REPLICA_SET_NAME: lambda subject: subject.replica_set_name or "",
    MatcherField.TYPE_NAME: _type_name,
    MatcherField.SHARD_NAME: lambda subject: subject.shard_name or "",
    MatcherField.CLUSTER_NAME: lambda subject: subject.cluster_name or "",
}


def fact_of(field: MatcherField, subject: MatchSubject) -> str:
    """Return what a matcher of a configuration compares; empty if the subject does not have it."""
    return _FACTS[field](subject)


def fields_for(category: Category) -> tuple[MatcherField, ...]:
    """Return the fields matchers of this category's event types may use; none: no matchers at all."""
    return _FIELDS.get(category, ())


def window_fields_for(category: Category) -> tuple[MatcherField, ...]:
    """Return the fields that windows may use for alerts of this category; none: no matchers at all."""
    fields = fields_for(category)
    return (*fields, MatcherField.LABEL) if fields else ()


def matches(matchers: Iterable[Matcher], subject: MatchSubject) -> bool:
    """Whether all matchers match; without matchers every subject matches."""
    return all(_holds(matcher, subject) for matcher in matchers)


def compared_in_steps(matcher: Matcher, subject: MatchSubject) -> Iterator[bool]:
    """Yield whether the matcher holds for a part of the subject after the other; it matches if all hold.

    A cluster or replica set has the labels of all of its hosts, LABEL_SETS_AT_ONCE in a part.
    """
    if matcher.field is not MatcherField.LABEL or not subject.labels:
        yield _holds(matcher, subject)
        return
    for start in range(0, len(subject.labels), LABEL_SETS_AT_ONCE):
        part = subject.labels[start : start + LABEL_SETS_AT_ONCE]
        yield all(_holds_for(matcher, labels) for labels in part)


def can_hold(matcher: Matcher, may_search: Callable[[], bool] = lambda: True) -> bool:
    """Whether it matches any subject; true for fields with too many possible values to check.

    The search for a port that matches a REGEX goes on while `may_search` is true; then the answer is true.

    False if LABEL NOT_EQUALS matches every subject, because no label is equal.
    """
    if matcher.field is MatcherField.TYPE_NAME:
        return any(_holds(matcher, MatchSubject(type_name=name)) for name in TYPE_NAMES)
    if matcher.field is MatcherField.LABEL:
        return matcher.operator not in _EQUALITIES or is_label(matcher.value)
    return matcher.field is not MatcherField.PORT or _can_hold_for_a_port(matcher, may_search)


def _can_hold_for_a_port(matcher: Matcher, may_search: Callable[[], bool]) -> bool:
    value = matcher.value
    match matcher.operator:
        case MatcherOperator.NOT_EQUALS | MatcherOperator.NOT_CONTAINS:
            return True
        case MatcherOperator.EQUALS:
            return f"\n{value}\n" in _ALL_PORTS
        case MatcherOperator.STARTS_WITH:
            return f"\n{value}" in _ALL_PORTS
        case MatcherOperator.ENDS_WITH:
            return f"{value}\n" in _ALL_PORTS
        case MatcherOperator.CONTAINS:
            return value in _ALL_PORTS
        case MatcherOperator.REGEX:
            return finds_a_port(value, may_search)


def _holds(matcher: Matcher, subject: MatchSubject) -> bool:
    if matcher.field is not MatcherField.LABEL:
        return _compares(matcher, fact_of(matcher.field, subject))
    return bool(subject.labels) and all(_holds_for(matcher, labels) for labels in subject.labels)


def _holds_for(matcher: Matcher, labels: Iterable[str]) -> bool:
    """Whether a matcher of LABEL matches a host with these labels."""
    compared = (_compares(matcher, label) for label in labels)
    return all(compared) if matcher.operator in _NEGATED else any(compared)


def _compares(matcher: Matcher, fact: str) -> bool:
    wanted = matcher.value
    caseless = matcher.field in CASELESS
    if matcher.operator is MatcherOperator.REGEX:
        return finds(wanted, fact, ignore_case=caseless)
    if caseless:
        fact, wanted = fact.casefold(), wanted.casefold()
    return _COMPARISONS[matcher.operator](fact, wanted)
