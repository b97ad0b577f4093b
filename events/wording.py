"""Events in words, for the console and files. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from opsapi.hostnames import host_and_port

_WORDS = {
    "AUDIT": "",
    "CONF": "configuration",
    "CONFIG": "configuration",
    "GROUP": "project",
    "ORG": "organization",
    "RS": "replica set",
}
_ACRONYMS = frozenset({"API", "BI", "CRUD", "MFA", "SSL"})
_ABOUT = (
    "hostname",
    "replicaSetName",
    "clusterName",
    "metricName",
    "targetUsername",
    "targetPublicKey",
    "accessListEntry",
)


def in_words(name: str) -> str:
    """`HOST_DOWN` → `Host down`: a name of a closed set in words, without the suffix `_AUDIT`."""
    text = inner_words(name)
    return text[:1].upper() + text[1:]


def inner_words(name: str) -> str:
    """As `in_words`, for the middle of a sentence: `host down`, `BI connector`."""
    words = [part if part in _ACRONYMS else _WORDS.get(part, part.lower()) for part in name.split("_")]
    return " ".join(word for word in words if word)


def names_with(word: str, names: Iterable[str]) -> list[str]:
    """The names of a closed set that contain the word, as they are or in words, in any case."""
    wanted = word.casefold()
    return [name for name in names if wanted in name.casefold() or wanted in in_words(name).casefold()]


_SENTENCES = {
    "INVITED_TO_GROUP": "{user} was invited to {project}",
    "INVITED_TO_ORG": "{user} was invited to the organization",
    "JOINED_GROUP": "{user} joined {project}",
    "JOINED_ORG": "{user} joined the organization",
    "REMOVED_FROM_GROUP": "{user} was removed from {project}",
    "REMOVED_FROM_ORG_AUDIT": "{user} was removed from the organization",
    "USER_ADDED_TO_TEAM": "{user} was added to a team",
    "USER_REMOVED_FROM_TEAM_AUDIT": "{user} was removed from a team",
    "USER_ROLES_CHANGED_AUDIT": "The roles of {user} changed",
}
"""What happened to a user, by event type."""
_BY_STRANGERS = frozenset({"USER_CREATED_AUDIT"})
"""Strangers can make the platform record these, with a name of their choice."""


def sentence(event_type: str, details: Mapping[str, Any], project: str | None) -> str:
    """What happened, with its user or target: `nina joined payments`, `Host restarted: db1:27017`.

    Without a project name, it says "a project". Names that strangers choose are left out.
    """
    words, user = in_words(event_type), details.get("targetUsername")
    if event_type in _BY_STRANGERS:
        return words
    if user and event_type in _SENTENCES:
        return _SENTENCES[event_type].format(user=user, project=project or "a project")
    named = about(details)
    return f"{words}: {named}" if named else words


def acting(details: Mapping[str, Any]) -> str | None:
    """The user or key that acted; None for the platform itself."""
    who: str | None = details.get("username") or details.get("publicKey")
    return who


def acted_by_key(details: Mapping[str, Any]) -> bool:
    """Whether a key acted, of an agent or an API client."""
    return "publicKey" in details


MetricWords = Callable[[str], str]
"""Returns the words for the name of a metric."""


def about(details: Mapping[str, Any], metric_words: MetricWords = str) -> str:
    """The resources of the event in a few names; empty if it names none."""
    return ", ".join(_about(details, metric_words))


def _about(details: Mapping[str, Any], metric_words: MetricWords) -> Iterator[str]:
    for name in _ABOUT:
        if name in details:
            port = details.get("port") if name == "hostname" else None
            value = str(details[name])
            yield metric_words(value) if name == "metricName" else host_and_port(value, port)


def target_of(facts: Mapping[str, Any]) -> str | None:
    """The host, replica set or cluster of an alert or event, from its facts or document."""
    if hostname := facts.get("hostname"):
        return host_and_port(hostname, facts.get("port"))
    return facts.get("hostnameAndPort") or facts.get("replicaSetName") or facts.get("clusterName")


def target_words(facts: Mapping[str, Any]) -> str:
    """The target of an alert in words, from its facts."""
    address = target_of(facts)
    if address is None:
        return "the project"
    if facts.get("hostname") and facts.get("port") is None and facts.get("sourceTypeName"):
        return f"the {in_words(facts['sourceTypeName']).lower()} agent on {address}"
    return address
