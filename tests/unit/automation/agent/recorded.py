"""What real servers answered, as `tests.processes.recorder` keeps it in `recorded/<version>-<kind>.json`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bson import json_util

from automation.agent.mongodb.metrics import SERVER, Answers, numbers_of, restart_mark
from automation.agent.rates import NumbersAt, Why, values_of

DIRECTORY = Path(__file__).parent / "recorded"
SHAPED_VERSIONS = ("7.0", "8.0")
"""Versions whose recordings are data of 6.0 in their shape: no test has a server of these versions."""
_OPTIONS = json_util.JSONOptions(tz_aware=False)


@dataclass(frozen=True)
class Recording:
    """Two polls of a server, one after the other."""

    version: str
    kind: str
    hello: Mapping[str, Any]
    polls: tuple[Mapping[str, Any], Mapping[str, Any]]
    db_path: str
    primary_window: float | None = None

    def moment(self, poll: int, refused: frozenset[str] = frozenset()) -> NumbersAt:
        """The numbers of the first poll (0) or the second (1), without sections that are refused."""
        sections = {name: part for name, part in self.polls[poll].items() if name not in refused}
        answers = Answers(sections, refused, self.db_path, primary_window=self.primary_window)
        process, seconds = restart_mark(answers)
        return NumbersAt(numbers_of(answers), process, seconds or 0.0)

    def values(self) -> tuple[Mapping[str, float], Mapping[str, Why]]:
        """What the agent reports of the second poll, and why the rest is missing."""
        return values_of(SERVER, self.moment(0), self.moment(1))


def recordings() -> list[Recording]:
    """All of them, by version and kind."""
    return [_read(path) for path in sorted(DIRECTORY.glob("*.json"))]


def recording(kind: str, version: str = "6.0.5") -> Recording:
    """One of them."""
    return _read(DIRECTORY / f"{version}-{kind}.json")


def _read(path: Path) -> Recording:
    version, _, kind = path.stem.partition("-")
    document = json_util.loads(path.read_text(), json_options=_OPTIONS)
    first, second = document["polls"]
    window = document.get("primaryWindow")
    return Recording(version, kind, document["hello"], (first, second), document["dbPath"], window)
