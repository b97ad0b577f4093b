"""The files that a server reads because its settings name them: keys and certificates, for example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from automation.agent.automation.part import WRITTEN_PLACES, ManagedProcess


def read_files(managed: ManagedProcess) -> Mapping[str, Path]:
    """The files and directories that a server reads, by the full names of the settings that name them.

    They are the absolute paths in its settings that exist, apart from the places that the server writes.
    """
    stated = {} if managed.key_place is None else {"auth.keyfile": managed.key_place}
    for name, text in _texts(managed.settings, ""):
        if name not in WRITTEN_PLACES:
            stated[f"args2_6.{name}"] = Path(text)
    return {name: path for name, path in stated.items() if path.is_absolute() and _is_there(path)}


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """The texts of settings with their dotted names."""
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _texts(inner, f"{name}.{part}" if name else str(part))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, f"{name}[{number}]")
    elif isinstance(value, str):
        yield name, value


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # A long text, or a zero byte: it is no path.
        return False
