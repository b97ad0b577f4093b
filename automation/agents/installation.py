"""The commands that install an agent, and its settings file.

The platform never knows the password of the database user: a command asks for it on the agent's machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from accesslist.keys.changes import NewKey
from automation.agent.settings import PREFIX
from automation.agent_file import NAME, agent_file
from opsapi.api.links import AGENTS
from opsapi.hostnames import host_and_port

MONGODB, POSTGRESQL = "mongodb", "postgresql"

MOST_HOSTS = 50

USER_PATTERN = r"\A[A-Za-z0-9_.@-]{1,63}\Z"
"""User names that need no escapes in the commands, between double quotes. PostgreSQL allows 63 bytes."""

_SETTINGS = "opsapi-agent.toml"
_UNIT = "opsapi-agent.service"
_RUN = f"python3 {NAME} --config {_SETTINGS}"
_CREATE_USER = (
    'db.getSiblingDB("admin").createUser'
    '({{user: "{user}", pwd: passwordPrompt(), roles: ["clusterMonitor"]}})'
)
_CREATE_ROLE = 'CREATE ROLE "{user}" LOGIN CONNECTION LIMIT 5 IN ROLE pg_monitor;\n\\password "{user}"'
_OPTIONS = {MONGODB: "/?authSource=admin", POSTGRESQL: "/postgres"}
# In single quotes of the shell. The name in the pattern has no special characters but the dot.
_WRITE_COMMAND = """python3 -c '
import getpass, pathlib, re, urllib.parse
file = pathlib.Path("{settings}")
password = urllib.parse.quote(getpass.getpass("Password of {user}: "), safe="")
text, found = re.subn(r"(?<={before})[^@\\s]*(?=@)", password, file.read_text())
file.write_text(text)
print("Password written" if found else "FAILED: {settings} has no {before}")
'"""


@dataclass(frozen=True)
class Servers:
    """Servers of an engine with the same port, and the database user of the agent.

    `hosts` are canonical (`opsapi.hostnames`), and `user` matches `USER_PATTERN`.
    """

    hosts: Sequence[str]
    port: int
    user: str


DEFAULTS: Mapping[str, Servers] = {
    MONGODB: Servers(("localhost",), 27017, "opsapi-agent"),
    POSTGRESQL: Servers(("localhost",), 5432, "opsapi_agent"),
}


def install_steps(
    address: str, group_id: str, new_key: NewKey, servers: Mapping[str, Servers]
) -> Mapping[str, Any]:
    """Return the commands that install and start an agent for these servers, by engine.

    The private key is only in the settings file, not in a command.
    """
    base = f"{address}{AGENTS}"
    mongodb, postgresql = servers.get(MONGODB), servers.get(POSTGRESQL)
    return {
        "is_tls": address.startswith("https://"),
        "settings_name": _SETTINGS,
        "settings_file": _settings_file(address, group_id, new_key, servers),
        "mongodb": mongodb,
        "postgresql": postgresql,
        "create_user": _CREATE_USER.format(user=mongodb.user) if mongodb else "",
        "create_role": _CREATE_ROLE.format(user=postgresql.user) if postgresql else "",
        "download": f"curl -fsSLO {base}/{NAME}\necho '{agent_file().sha256}  {NAME}' | sha256sum --check",
        "write_settings": f"(umask 077 && cat > {_SETTINGS})",
        "mongodb_password": _write_password(MONGODB, mongodb) if mongodb else "",
        "postgresql_password": _write_password(POSTGRESQL, postgresql) if postgresql else "",
        "check": f"{_RUN} --check",
        "run": _RUN,
        "with_systemd": _systemd_commands(base),
    }


def _settings_file(address: str, group_id: str, new_key: NewKey, servers: Mapping[str, Servers]) -> str:
    settings = {
        "URL": address,
        "GROUP_ID": group_id,
        "PUBLIC_KEY": new_key.key.public_key,
        "PRIVATE_KEY": new_key.private_key,
        **({"HOSTNAME": new_key.key.hostnames[0]} if new_key.key.hostnames else {}),
        **{engine.upper(): _connection_string(engine, of_engine) for engine, of_engine in servers.items()},
    }
    return "\n".join(f'{PREFIX}{name}="{value}"' for name, value in settings.items())


def _connection_string(engine: str, servers: Servers) -> str:
    places = ",".join(host_and_port(host, servers.port) for host in servers.hosts)
    return f"{_before_password(engine, servers)}PASSWORD@{places}{_OPTIONS[engine]}"


def _before_password(engine: str, servers: Servers) -> str:
    return f"{engine}://{quote(servers.user, safe='')}:"


def _write_password(engine: str, servers: Servers) -> str:
    before = _before_password(engine, servers)
    return _WRITE_COMMAND.format(settings=_SETTINGS, user=servers.user, before=before)


def _systemd_commands(base: str) -> str:
    return "\n".join(
        (
            f"curl -fsSLO {base}/{_UNIT}",
            f"sudo install -m 644 {NAME} /usr/local/lib/",
            f"sudo install -m 600 {_SETTINGS} /etc/",
            f"sudo install -m 644 {_UNIT} /etc/systemd/system/",
            f"rm {_SETTINGS}",
            "sudo systemctl daemon-reload",
            "sudo systemctl enable --now opsapi-agent",
        )
    )
