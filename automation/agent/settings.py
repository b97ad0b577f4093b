"""Settings of the agent, from environment variables or a TOML file with the same names."""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Callable
from urllib.parse import urlsplit

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from automation.agent.engine import ServerAddress, read_address
from automation.labels import MOST_LABELS, name_fault, size_fault, value_fault
from opsapi.hostnames import canonical_hostname

PREFIX = "OPSAPI_AGENT_"

DEFAULT_INTERVAL = 60
SHORTEST_INTERVAL, LONGEST_INTERVAL = 2, 180
"""Seconds. The platform considers a host down after 4 minutes without a report."""

_GROUP_ID = re.compile(r"[0-9a-f]{24}")
_LARGEST_FILE = 1_000_000
_PRINTED_NAME = re.compile(r"[\w.-]{1,63}")


class SettingsError(Exception):
    """Settings that the agent cannot run with; `faults` has a line for each fault."""

    def __init__(self, faults: Sequence[str]) -> None:
        """Store the lines. They name settings and never quote a secret."""
        super().__init__("; ".join(faults))
        self.faults = faults


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError("is not a URL: https://HOST[:PORT]") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise ValueError("is not a URL: https://HOST[:PORT] or http://HOST[:PORT]")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("must have no user, password, query or fragment: https://HOST[:PORT]")
    return text.rstrip("/")


def _group_id(text: str) -> str:
    if not _GROUP_ID.fullmatch(text):
        raise ValueError("is not a project ID: 24 characters, 0-9 and a-f")
    return text


def _key(text: str) -> str:
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("is not a key: printable ASCII characters without spaces")
    return text


def _interval(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or not SHORTEST_INTERVAL <= int(text) <= LONGEST_INTERVAL:
        raise ValueError(f"is not a whole number of seconds from {SHORTEST_INTERVAL} to {LONGEST_INTERVAL}")
    return int(text)


def _switch(text: str) -> bool:
    if text not in {"on", "off"}:
        raise ValueError("is neither on nor off")
    return text == "on"


def _directory(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise ValueError("is not an absolute path")
    return path


def _directories(text: str) -> Sequence[Path]:
    directories = tuple(Path(part) for part in text.split(":") if part)
    if any(not path.is_absolute() or path == Path("/") for path in directories):
        raise ValueError("has a wrong directory: write absolute paths other than /, with colons between them")
    return directories


def _hostname(text: str) -> str:
    name = canonical_hostname(text)
    if name is None:
        raise ValueError("is not a host name (RFC 1123) or an IP address; the default is this machine's name")
    return name


def _default_spool_dir(environment: Mapping[str, str]) -> str:
    # systemd sets STATE_DIRECTORY, with several values separated by colons (systemd.exec(5)).
    if given := environment.get("STATE_DIRECTORY", "").split(":")[0]:
        return given
    home = environment.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    return str(Path(home) / "opsapi-agent")


def _words(text: str) -> Sequence[str]:
    # systemd passes a TOML list as text, and a list over several lines as its first line.
    if text.startswith("["):
        raise ValueError("is a list: write one string, in double quotes, with blanks between its parts")
    return tuple(text.split())


def _labels(text: str) -> Mapping[str, str]:
    words = text.split()
    if len(words) > MOST_LABELS:
        raise ValueError(f"has {len(words)} labels: at most {MOST_LABELS} are allowed")
    labels: dict[str, str] = {}
    for place, word in enumerate(words, 1):
        name, is_pair, value = word.partition("=")
        # Anything else could be a misplaced secret.
        printed = name if is_pair and _PRINTED_NAME.fullmatch(name) else f"number {place}"
        if not is_pair:
            raise ValueError(f"has a wrong label, {printed}: write NAME=VALUE without blanks")
        if fault := name_fault(name):
            raise ValueError(f"has a wrong label, {printed}: its name {fault}")
        if fault := value_fault(value):
            raise ValueError(f"has a wrong label, {printed}: its value {fault}")
        if name in labels:
            raise ValueError(f"has the label {name} twice")
        labels[name] = value
    if fault := size_fault(labels):
        raise ValueError(fault)
    return labels


def _markers(text: str) -> Mapping[ServerAddress, Path]:
    markers: dict[ServerAddress, Path] = {}
    for place, word in enumerate(text.split(), 1):
        server, is_pair, path = word.partition("=")
        address = read_address(server, 0) if is_pair else None
        if address is None or not Path(path).is_absolute():
            raise ValueError(f"has a wrong marker, number {place}: write HOST:PORT=/PATH without blanks")
        if address in markers:
            raise ValueError(f"names {address} twice")
        markers[address] = Path(path)
    return markers


def _nothing(_: Mapping[str, str]) -> str:
    return ""


def _setting(
    read: Callable[[str], Any],
    default: Callable[[Mapping[str, str]], str] | None = None,
    *,
    is_secret: bool = False,
) -> Any:
    """A field of `Settings`: `read` raises ValueError, `default` is computed from the environment."""
    return field(metadata={"read": read, "default": default}, repr=not is_secret)


@dataclass(frozen=True)
class Settings:
    """Validated settings, named like the variables without OPSAPI_AGENT_.

    The representation leaves out secrets. `mongodb` and `postgresql` list the servers to watch. `labels` are
    the labels of all hosts that the agent reports, value by name. `backup_markers` are files by server, which
    its backup job writes. `update` allows the agent to replace its file if the project wants it. `automation`
    allows it to carry out the automation configuration, below `automation_dirs`. `sources` has the origin of
    each setting by its field; a default has no entry.
    """

    url: str = _setting(_url)
    group_id: str = _setting(_group_id)
    public_key: str = _setting(_key)
    private_key: str = _setting(_key, is_secret=True)
    mongodb: Sequence[str] = _setting(_words, _nothing, is_secret=True)
    postgresql: Sequence[str] = _setting(_words, _nothing, is_secret=True)
    labels: Mapping[str, str] = _setting(_labels, _nothing)
    interval: int = _setting(_interval, lambda _: str(DEFAULT_INTERVAL))
    spool_dir: Path = _setting(_directory, _default_spool_dir)  # noqa: RUF009 - a field
    backup_markers: Mapping[ServerAddress, Path] = _setting(_markers, _nothing)
    hostname: str = _setting(_hostname, lambda _: socket.gethostname())
    update: bool = _setting(_switch, lambda _: "on")
    automation: bool = _setting(_switch, lambda _: "off")
    automation_dirs: Sequence[Path] = _setting(_directories, _nothing)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


_FIELDS = {PREFIX + setting.name.upper(): setting for setting in fields(Settings) if setting.metadata}
FIELDS = {name: setting.name for name, setting in _FIELDS.items()}
"""The fields of `Settings`, by the name of the setting."""
NAMES = frozenset(_FIELDS)
"""The names of all settings."""


def read_settings(environment: Mapping[str, str], config: Path | None = None) -> Settings:
    """The settings. Environment variables override the file.

    Raises: SettingsError: with a line for each missing or wrong setting, or for a file that is not safe.
    """
    in_file = _read_file(config) if config else {}
    in_environment = {name: environment[name].strip() for name in NAMES if environment.get(name, "").strip()}
    given = {**in_file, **in_environment}
    faults: list[str] = []
    values: dict[str, Any] = {}
    for name, setting in _FIELDS.items():
        read, default = setting.metadata["read"], setting.metadata["default"]
        text = given.get(name) or (default(environment) if default else None)
        if text is None:
            faults.append(f"{name} is missing")
            continue
        try:
            values[setting.name] = read(text)
        except ValueError as error:
            faults.append(f"{name} {error}")
    if values.get("automation") and values.get("automation_dirs") == ():
        faults.append(f"{PREFIX}AUTOMATION_DIRS is missing: name the directories that the agent may write")
    if faults:
        raise SettingsError(faults)
    sources = {
        setting.name: "the environment" if name in in_environment else str(config)
        for name, setting in _FIELDS.items()
        if given.get(name)
    }
    return Settings(**values, sources=sources)


def _read_file(path: Path) -> dict[str, str]:
    try:
        # Without O_NONBLOCK, a pipe would block the agent until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise SettingsError([f"--config {path} cannot be read: {error.strerror}"]) from None
    with os.fdopen(descriptor, "rb") as file:
        _check_owner(path, os.fstat(file.fileno()))
        octets = file.read(_LARGEST_FILE + 1)
    if len(octets) > _LARGEST_FILE:
        raise SettingsError([f"--config {path} is too large: at most {_LARGEST_FILE} bytes"])
    try:
        document = tomllib.loads(octets.decode())
    except ValueError as error:
        # The parser quotes no values, but its message may contain a key, which could be a misplaced secret.
        place = re.search(r"at line \d+, column \d+", str(error))
        where = f" {place[0]}" if place else ""
        raise SettingsError([f"--config {path} is not a TOML document{where}"]) from None
    faults = [
        f"--config {path}: {name} is not a setting; allowed: {', '.join(sorted(NAMES))}"
        for name in document
        if name not in NAMES
    ]
    if faults:
        raise SettingsError(faults)
    return {name: _text(name, value) for name, value in document.items()}


def _check_owner(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SettingsError([f"--config {path} is not a regular file"])
    if status.st_uid not in {0, os.geteuid()}:
        raise SettingsError([f"--config {path} belongs to another user: it must belong to you or to root"])
    if status.st_mode & 0o077:
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        raise SettingsError([f"--config {path} can be read by others (mode {mode}): chmod 600 {path}"])


def _text(name: str, value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise SettingsError([f"{name} must be a string, a whole number or a list of strings"])
    return str(value).strip()
