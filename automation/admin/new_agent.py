"""Commands that install an agent, and the reports that have arrived from it."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.urls import reverse

from accesslist.services.keys import NewKey
from automation.admin.states import agent_state, host_state
from automation.agent.settings import PREFIX
from automation.agent_file import NAME, agent_file
from automation.forms import MONGODB, POSTGRESQL
from automation.models import Agent, Host
from automation.selectors.agents import first_report
from opsapi import clock
from opsapi.api.links import AGENTS
from opsapi.console.admin_urls import list_url, page_url

_SETTINGS = "opsapi-agent.toml"
_UNIT = "opsapi-agent.service"
_RUN = f"python3 {NAME} --config {_SETTINGS}"
_USER, _ROLE = "opsapi-agent", "opsapi_agent"
_CREATE_ROLE = f"CREATE ROLE {_ROLE} LOGIN CONNECTION LIMIT 5 IN ROLE pg_monitor;\n\\password {_ROLE}"
_CREATE_USER = (
    'db.getSiblingDB("admin").createUser'
    f'({{user: "{_USER}", pwd: passwordPrompt(), roles: ["clusterMonitor"]}})'
)
_PLACES = {
    MONGODB: f"mongodb://{_USER}:PASSWORD@localhost:27017/?authSource=admin",
    POSTGRESQL: f"postgresql://{_ROLE}:PASSWORD@localhost:5432/postgres",
}


def install_steps(
    address: str, group_id: str, new_key: NewKey, databases: Collection[str]
) -> Mapping[str, Any]:
    """Return the commands that install and start an agent for these databases (`automation.forms`).

    The private key is only in the settings file, not in a command.
    """
    base = f"{address}{AGENTS}"
    return {
        "is_tls": address.startswith("https://"),
        "settings_name": _SETTINGS,
        "settings_file": _settings_file(address, group_id, new_key, databases),
        "databases": databases,
        "create_role": _CREATE_ROLE,
        "create_user": _CREATE_USER,
        "download": f"curl -fsSLO {base}/{NAME}\necho '{agent_file().sha256}  {NAME}' | sha256sum --check",
        "write_settings": f"(umask 077 && cat > {_SETTINGS})",
        "check": f"{_RUN} --check",
        "run": _RUN,
        "with_systemd": _systemd_commands(base),
    }


def _settings_file(address: str, group_id: str, new_key: NewKey, databases: Collection[str]) -> str:
    settings = {
        "URL": address,
        "GROUP_ID": group_id,
        "PUBLIC_KEY": new_key.key.public_key,
        "PRIVATE_KEY": new_key.private_key,
        **{name.upper(): place for name, place in _PLACES.items() if name in databases},
    }
    return "\n".join(f'{PREFIX}{name}="{value}"' for name, value in settings.items())


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


def waiting_context(key_id: str, since: datetime, group_id: str) -> Mapping[str, Any]:
    """What agents of the project have reported since the key was created."""
    now, came = clock.now(), first_report(group_id, since)
    return {
        "waiting_url": reverse("admin:automation_agent_first_report", args=[key_id]),
        "since": since,
        "arrived": [_agent_row(agent) for agent in came.arrived],
        "others": [_agent_row(agent) for agent in came.others],
        "hosts": [_host_row(host, now) for host in came.hosts],
        "host_count": came.host_count,
        "hosts_url": list_url(Host, group__id__exact=group_id),
    }


def _agent_row(agent: Agent) -> Mapping[str, Any]:
    words, tone = agent_state(agent)
    return {"row": agent, "url": page_url(agent), "state": words, "tone": tone}


def _host_row(host: Host, now: datetime) -> Mapping[str, Any]:
    words, tone = host_state(host, now)
    return {"row": host, "url": page_url(host), "state": words, "tone": tone}
