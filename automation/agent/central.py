"""Settings that the platform keeps for the agents of a project. Settings of this machine override them.

The newest settings are stored in the spool directory, for a start while the platform is unreachable. The file
has passwords, and only the user of the agent can read it, as the file of the agent's own settings.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from automation.agent.client import Client, NoChallenge, PlatformAnswer, Unreachable
from automation.agent.faults import printable
from automation.agent.files import write_whole
from automation.agent.settings import LONGEST_INTERVAL, PREFIX, SHORTEST_INTERVAL, Settings
from automation.agent.update import Offer, read_offer
from automation.labels import MOST_LABELS, name_fault, size_fault, value_fault

log = logging.getLogger("opsapi.agent")

FILE = "central-settings"
"""In the spool directory, which belongs to a single process at a time."""

ASK_AGAIN, TRY_AGAIN = 300.0, 60.0
"""Seconds between two questions for newer settings, and after a question without an answer."""

PLATFORM = "the platform"
"""The source of a setting that the platform gives."""

PATIENCE = 10.0
"""Seconds for each part of the answer: nothing is polled meanwhile."""

MOST_STRINGS = 200
_LONGEST_VERSION = 64
_NO_ENDPOINT = "RESOURCE_NOT_FOUND"
"""The error code of a platform that keeps no settings, because it is older than the agent."""


@dataclass(frozen=True)
class CentralSettings:
    """Settings from the platform; None and empty values mean nothing. `faults` are about ignored values.

    `update` is the file that agents replace their own file with. `withheld`: the platform has connection
    strings that the API key does not get.
    """

    version: str = ""
    mongodb: Sequence[str] = field(default=(), repr=False)
    postgresql: Sequence[str] = field(default=(), repr=False)
    interval: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    update: Offer | None = None
    withheld: bool = False
    faults: Sequence[str] = ()

    def values(self) -> dict[str, Any]:
        """The settings that have a value, by the name of the field of `Settings`."""
        given = {name: getattr(self, name) for name in ("mongodb", "postgresql", "interval", "labels")}
        return {name: value for name, value in given.items() if value}


NOTHING = CentralSettings()
WITHHELD = "without connection strings of servers on other machines, because the key is for this machine"


def merged(own: Settings, central: CentralSettings) -> Settings:
    """The settings of this machine, and for each setting that it does not name the platform's."""
    values = {name: value for name, value in central.values().items() if name not in own.sources}
    sources = {**own.sources, **dict.fromkeys(values, PLATFORM)}
    return replace(own, **values, sources=sources)


def changes_of(before: Settings, after: Settings) -> Sequence[str]:
    """What the platform has changed, for the log, without connection strings."""
    old, new = _words(before), _words(after)
    return [
        f"{PREFIX}{name.upper()} is {new[name] or 'empty'} (before: {old[name] or 'empty'})"
        for name in new
        if getattr(before, name) != getattr(after, name)
    ]


def _words(settings: Settings) -> Mapping[str, str]:
    return {
        "mongodb": f"{len(settings.mongodb)} connection strings",
        "postgresql": f"{len(settings.postgresql)} connection URIs",
        "interval": f"{settings.interval} s",
        "labels": " ".join(f"{name}={value}" for name, value in settings.labels.items()),
    }


def read_central(document: Mapping[str, Any]) -> CentralSettings:
    """The settings of an answer. A wrong value is ignored alone; its line in `faults` quotes nothing."""
    faults: list[str] = []
    strings = {name: tuple(_strings(document, name, faults)) for name in ("mongodb", "postgresql")}
    interval = document.get("intervalSeconds")
    if interval is not None and not _is_interval(interval):
        interval = None
        allowed = f"from {SHORTEST_INTERVAL} to {LONGEST_INTERVAL}"
        faults.append(f"{PREFIX}INTERVAL is not a whole number of seconds {allowed}")
    labels = document.get("labels") or {}
    if fault := _label_fault(labels):
        labels = {}
        faults.append(f"{PREFIX}LABELS {fault}")
    update = None
    try:
        update = read_offer(document.get("agentFile"))
    except ValueError as error:
        faults.append(f"agentFile {error}")
    version = printable(document.get("version"), _LONGEST_VERSION) or ""
    return CentralSettings(
        version,
        interval=interval,
        labels=labels,
        update=update,
        withheld=bool(document.get("withheldCount")),
        faults=tuple(faults),
        **strings,
    )


def _strings(document: Mapping[str, Any], name: str, faults: list[str]) -> Sequence[str]:
    given = document.get(name) or []
    if not isinstance(given, list) or len(given) > MOST_STRINGS:
        faults.append(f"{PREFIX}{name.upper()} is not a list of at most {MOST_STRINGS} connection strings")
        return []
    strings = []
    for number, text in enumerate(given, 1):
        if isinstance(text, str) and text and len(text.split()) == 1:
            strings.append(text)
        else:
            faults.append(f"{PREFIX}{name.upper()}: connection string {number} is not a text without blanks")
    return strings


def _is_interval(value: object) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and SHORTEST_INTERVAL <= value <= LONGEST_INTERVAL  # type: ignore[operator]


def _label_fault(labels: object) -> str | None:
    if not isinstance(labels, dict) or len(labels) > MOST_LABELS:
        return f"is not an object of at most {MOST_LABELS} labels"
    for name, value in labels.items():
        fault = name_fault(name) or (value_fault(value) if isinstance(value, str) else "is not a text")
        if fault:
            return f"has a wrong label: {fault}"
    return size_fault(labels)


class CentralSource:
    """Asks the platform for settings. Not thread-safe."""

    def __init__(self, client: Client, own: Settings) -> None:
        """Reads the stored settings; does not ask yet."""
        self._client, self._path = client, own.spool_dir / FILE
        self._place = f"{own.url} {own.group_id}"
        self._failure = ""
        self.current = self._stored()
        self.is_reached = False
        """Whether the last question had an answer."""

    @property
    def seconds(self) -> float:
        """The time until the next question, different for each agent."""
        usual = TRY_AGAIN if self._failure else ASK_AGAIN
        return usual * random.uniform(0.8, 1.2)  # noqa: S311 - spreads questions, is no secret

    @property
    def failure(self) -> str:
        """Why the last question had no usable answer; empty if it had one."""
        return self._failure

    def refresh(self) -> None:
        """Ask for newer settings, and store them. Without an answer, the current settings stay."""
        answer = self._asked()
        if answer is None or answer.status == 304:
            return
        self.current = read_central(answer.document)
        for fault in self.current.faults:
            log.error("settings of the platform: %s", fault)
        if self.current.withheld:
            log.info("settings of the platform: %s", WITHHELD)
        try:
            write_whole(self._path, json.dumps({"of": self._place, "settings": answer.document}).encode())
        except OSError as error:
            log.error("the settings of the platform cannot be stored in the spool: %s", error.strerror)

    def look(self) -> None:
        """As `refresh`, without storing or logging anything."""
        answer = self._answer()
        if isinstance(answer, PlatformAnswer) and answer.status == 200:
            self.current = read_central(answer.document)

    def _asked(self) -> PlatformAnswer | None:
        before = self._failure
        answer = self._answer()
        if self._failure and self._failure != before:
            log.warning("%s", self._failure)
        elif before and not self._failure:
            log.info("the platform gives the agents their settings again")
        return answer

    def _answer(self) -> PlatformAnswer | None:
        """The answer with settings, or that nothing has changed; None for any other."""
        self._failure, self.is_reached = "", False
        try:
            answer = self._client.settings(self.current.version)
        except (Unreachable, NoChallenge) as error:
            self._failure = f"the platform gives no settings: {error}"
            return None
        self.is_reached = True
        if answer.status == 304 or (answer.status == 200 and "version" in answer.document):
            return answer
        if not (answer.status == 404 and answer.code == _NO_ENDPOINT):
            todo = ": give the key the role GROUP_AGENT in the project" if answer.status == 403 else ""
            self._failure = f"the platform gives no settings: {answer.detail.rstrip('.')}{todo}"
        return None

    def _stored(self) -> CentralSettings:
        """The settings of the last answer; NOTHING if there are none, or if they are of another project."""
        try:
            kept = json.loads(self._path.read_bytes())
            return read_central(kept["settings"]) if kept["of"] == self._place else NOTHING
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return NOTHING
