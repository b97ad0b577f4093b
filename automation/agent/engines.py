"""The database engines of the settings, which can change while the agent runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Optional

from automation.agent.central import PLATFORM
from automation.agent.engine import DatabaseEngine
from automation.agent.postgresql import MISSING
from automation.agent.settings import PREFIX, Settings, SettingsError

log = logging.getLogger("opsapi.agent")

Make = Callable[[Sequence[str]], Optional[DatabaseEngine]]


def _mongodb(connection_strings: Sequence[str], managed: Sequence[str]) -> DatabaseEngine | None:
    """Imported on demand: pymongo takes much memory."""
    if not connection_strings and not managed:
        return None
    from automation.agent.mongodb.engine import MongoDB  # noqa: PLC0415

    return MongoDB(connection_strings, managed)


def _postgresql(uris: Sequence[str], hostname: str) -> DatabaseEngine | None:
    """Imported on demand: it needs libpq, which the single-file agent does not contain."""
    if not uris:
        return None
    try:
        from automation.agent.postgresql.engine import PostgreSQL  # noqa: PLC0415
    except ImportError:
        raise ValueError(MISSING) from None
    return PostgreSQL(uris, hostname)


def _makers(hostname: str, managed: Sequence[str]) -> Mapping[str, tuple[Make, Sequence[str]]]:
    """What creates an engine from its connection strings, by the field of the settings.

    Each with the connection strings that the engine has in addition to the settings.
    """
    return {
        "mongodb": (lambda strings: _mongodb(strings, managed), managed),
        "postgresql": (lambda uris: _postgresql(uris, hostname), ()),
    }


class Engines:
    """An engine for each setting with connection strings. Not thread-safe."""

    def __init__(self, settings: Settings) -> None:
        """Raises: SettingsError: as `change`."""
        self._built: dict[str, tuple[tuple[Sequence[str], Sequence[str]], DatabaseEngine | None]] = {}
        self.change(settings)

    @property
    def all(self) -> Sequence[DatabaseEngine]:
        return [engine for _, engine in self._built.values() if engine is not None]

    def change(self, settings: Settings, managed: Sequence[str] = ()) -> bool:
        """Build the engines whose connection strings have changed, and close their predecessors.

        `managed`: the connection strings of the MongoDB servers that the automation manages. Returns whether
        an engine was built or closed.

        Raises: SettingsError: a connection string of this machine is wrong. A wrong string from the platform
        is logged, and the others are used.
        """
        has_changed = False
        for name, (make, more) in _makers(settings.hostname, tuple(managed)).items():
            texts: Sequence[str] = tuple(getattr(settings, name))
            before, old = self._built.get(name, (((), ()), None))
            if (texts, more) == before:
                continue
            is_central = settings.sources.get(name) == PLATFORM
            self._built[name] = (texts, more), (_usable if is_central else _whole)(name, make, texts)
            if old is not None:
                old.close()
            has_changed = True
        return has_changed

    def close(self) -> None:
        for engine in self.all:
            engine.close()


def _whole(name: str, make: Make, texts: Sequence[str]) -> DatabaseEngine | None:
    try:
        return make(texts)
    except ValueError as error:
        raise SettingsError([f"{PREFIX}{name.upper()}: {error}"]) from None


def _usable(name: str, make: Make, texts: Sequence[str]) -> DatabaseEngine | None:
    """The engine of the strings that it accepts. The others are logged, by their number."""
    good: list[str] = []
    faults: list[str] = []
    for number, text in enumerate(texts, 1):
        try:
            trial = make([*good, text])
        except ValueError as error:
            faults.append(str(error).replace(f" {len(good) + 1} ", f" {number} ", 1))
        else:
            good.append(text)
            if trial is not None:
                trial.close()
    for fault in dict.fromkeys(faults):
        log.error("settings of the platform: %s%s: %s", PREFIX, name.upper(), fault)
    return make(good)
