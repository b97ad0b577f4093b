"""Events in words, for the console and files. Pure."""

from collections.abc import Iterator, Mapping
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
    words = [part if part in _ACRONYMS else _WORDS.get(part, part.lower()) for part in name.split("_")]
    text = " ".join(word for word in words if word)
    return text[:1].upper() + text[1:]


def acting(details: Mapping[str, Any]) -> str | None:
    """The user or key that acted; None for the platform itself."""
    who: str | None = details.get("username") or details.get("publicKey")
    return who


def acted_by_key(details: Mapping[str, Any]) -> bool:
    """Whether a key acted, of an agent or an API client."""
    return "publicKey" in details


def about(details: Mapping[str, Any]) -> str:
    """The resources of the event in a few names; empty if it names none."""
    return ", ".join(_about(details))


def _about(details: Mapping[str, Any]) -> Iterator[str]:
    for name in _ABOUT:
        if name in details:
            port = details.get("port") if name == "hostname" else None
            yield host_and_port(str(details[name]), port)
