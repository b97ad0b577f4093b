"""What `deploy/` holds, read as systemd reads it."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.documents import DEPLOY

HOME = "/opt/opsapi"
"""Where the units look for the project."""
PYTHON = f"{HOME}/.venv/bin/python"
NGINX = DEPLOY / "nginx.conf"
ENVIRONMENT = DEPLOY / "opsapi.env"
AGENT_UNIT = DEPLOY / "agent" / "opsapi-agent.service"
"""Of another machine: where the databases are."""
_LINE = re.compile(r"^(#?)([A-Z][A-Z0-9_]*)=(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SystemdUnit:
    """One unit file: its settings by section and name, each with all its lines."""

    name: str
    settings: dict[tuple[str, str], list[str]]

    def value(self, section: str, name: str) -> str:
        """The only value of a setting."""
        (value,) = self.settings[section, name]
        return value

    @property
    def command(self) -> list[str]:
        """What it runs, by words."""
        return shlex.split(self.value("Service", "ExecStart"))


def read_unit(path: Path) -> SystemdUnit:
    """One unit file."""
    section, settings = "", dict[tuple[str, str], list[str]]()
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            settings.setdefault((section, name), []).append(value)
    return SystemdUnit(path.name, settings)


def units() -> list[SystemdUnit]:
    """The units of the platform's machines."""
    return [read_unit(path) for path in sorted(DEPLOY.glob("*.service"))]


def environment(*, offered: bool = False) -> dict[str, str]:
    """The settings in the example; with `offered` also the settings in comments."""
    return {
        name: value
        for comment, name, value in _LINE.findall(ENVIRONMENT.read_text())
        if offered or not comment
    }
