"""`deploy/` fits what it deploys: its commands, its settings, where nginx looks for gunicorn."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.urls import reverse

from opsapi import metric_files
from opsapi.environment import READ
from opsapi.supervisor.arrival import LONGEST_REQUEST
from tests.deployment import (
    AGENT_UNIT,
    ENVIRONMENT,
    HOME,
    NGINX,
    PYTHON,
    SystemdUnit,
    environment,
    read_unit,
    units,
)
from tests.documents import DEPLOY, ROOT, shell_blocks
from tests.each import each

MOST_EXPOSED = "20"
"""Of a hundred, by `systemd-analyze security`."""

GUIDE = ROOT / "docs" / "how-to" / "deploy.md"
AUTOMATION = ROOT / "docs" / "how-to" / "automate-a-deployment.md"

each_unit = pytest.mark.parametrize("unit", units(), ids=lambda unit: unit.name)


def test_there_is_a_unit_for_each_part() -> None:
    assert [unit.name for unit in units()] == [
        "opsapi-migrate.service",
        "opsapi-web.service",
        "opsapi-worker@.service",
    ]


@each_unit
def test_its_command_exists(unit: SystemdUnit) -> None:
    program, *words = unit.command
    assert (program, unit.value("Service", "WorkingDirectory")) == (PYTHON, HOME)
    if words[0] == "-m":
        _, module, _, config, application = words
        assert importlib.util.find_spec(module)
        assert importlib.util.find_spec(config.removeprefix("python:"))
        assert importlib.util.find_spec(application)
    else:
        script, command = words
        assert (ROOT / script).is_file()
        assert command in get_commands()


@each_unit
def test_its_settings_equal_the_example(unit: SystemdUnit) -> None:
    given = _given(unit)
    assert given.keys() <= READ.keys() | {metric_files.VARIABLE}
    assert given["OPSAPI_ENV_FILE"] == unit.value("Unit", "AssertPathExists") == "/etc/opsapi/opsapi.env"
    assert unit.value("Unit", "Documentation") == f"file:{HOME}/docs/how-to/deploy.md"


@each_unit
def test_it_may_do_no_more_than_it_needs(unit: SystemdUnit) -> None:
    hardened = {name: unit.value("Service", name) for name in ("User", "ProtectSystem", "NoNewPrivileges")}
    assert hardened == {"User": "opsapi", "ProtectSystem": "strict", "NoNewPrivileges": "true"}
    assert unit.value("Service", "CapabilityBoundingSet") == ""
    assert unit.settings["Service", "SystemCallFilter"][0] == "@system-service"


@pytest.mark.slow
def test_the_example_names_settings_that_exist_and_can_be_used() -> None:
    assert environment(offered=True).keys() <= READ.keys() | {metric_files.VARIABLE}
    values = environment()
    (state,) = {unit.value("Service", "StateDirectory") for unit in units()}
    assert values["OPSAPI_DATA_DIR"] == f"/var/lib/{state}"
    assert _check(environment(offered=True)) == (0, "")


def test_web_and_workers_count_in_one_directory_in_memory() -> None:
    counting = [unit for unit in units() if metric_files.VARIABLE in _given(unit)]
    assert [unit.name for unit in counting] == ["opsapi-web.service", "opsapi-worker@.service"]
    for unit in counting:
        assert _given(unit)[metric_files.VARIABLE] == f"/run/{unit.value('Service', 'RuntimeDirectory')}"
        assert unit.value("Service", "RuntimeDirectoryMode") == "0700"
        assert unit.value("Service", "RuntimeDirectoryPreserve") == "yes"


def _given(unit: SystemdUnit) -> dict[str, str]:
    """Its environment."""
    return dict(word.split("=", 1) for word in unit.value("Service", "Environment").split())


def test_nginx_looks_where_gunicorn_listens() -> None:
    servers = re.findall(r"^\s+server (\S+)", NGINX.read_text(), re.MULTILINE)
    assert [server.rstrip(";") for server in servers if server != "{"] == [environment()["OPSAPI_BIND"]]
    host, _, _ = environment()["OPSAPI_BIND"].partition(":")
    assert environment()["OPSAPI_TRUSTED_PROXIES"] == f"{host}/32"
    names = set(re.findall(r"server_name (\S+);", NGINX.read_text()))
    assert names == {environment()["OPSAPI_PUBLIC_URL"].removeprefix("https://")}
    assert names <= set(environment()["OPSAPI_ALLOWED_HOSTS"].split(","))


def test_nginx_takes_what_the_api_takes() -> None:
    (size,) = re.findall(r"client_max_body_size +(\d+)m;", NGINX.read_text())
    assert 16 <= int(size) <= LONGEST_REQUEST >> 20


@each("header", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"])
def test_nginx_replaces_what_the_platform_believes(header: str) -> None:
    (value,) = re.findall(rf"proxy_set_header {header} +(\S+);", NGINX.read_text())
    assert value in {"$remote_addr", "$scheme", "$host"}


def test_nginx_lays_the_file_of_events_nowhere() -> None:
    path = reverse("admin:events_event_csv")
    (place,) = re.findall(rf"location = {path} {{(.*?)}}", NGINX.read_text(), re.DOTALL)
    assert "proxy_pass http://opsapi;" in place
    assert "proxy_max_temp_file_size 0;" in place


def test_the_document_s_way_fills_in_the_secrets(tmp_path: Path) -> None:
    (block,) = (block.text for block in shell_blocks(GUIDE) if "secrets" in block.text)
    settings = tmp_path / "opsapi.env"
    settings.write_text(ENVIRONMENT.read_text())
    settings.chmod(0o640)
    typed = block.replace("/etc/opsapi/opsapi.env", str(settings))
    for _ in range(2):
        subprocess.run(["sh", "-eu"], input=typed, text=True, check=True)
    before, after = ENVIRONMENT.read_text().splitlines(), settings.read_text().splitlines()
    filled = {new.partition("=")[::2] for old, new in zip(before, after, strict=True) if old != new}
    assert {name for name, _ in filled} == {"SECRET_KEY", "OPSAPI_ENCRYPTION_KEYS"}
    assert {len(secret) for _, secret in filled} == {64}
    assert len({secret for _, secret in filled}) == 2
    assert settings.stat().st_mode & 0o777 == 0o640


def test_the_agent_s_unit_gives_it_what_it_reads() -> None:
    agent = read_unit(AGENT_UNIT)
    assert agent.command == ["/usr/bin/python3", "/usr/local/lib/opsapi-agent.pyz"]
    (settings,) = agent.settings["Service", "EnvironmentFile"]
    assert settings == agent.value("Unit", "AssertPathExists") == "/etc/opsapi-agent.toml"
    given = {
        name: agent.value("Service", name) for name in ("DynamicUser", "ProtectSystem", "StateDirectory")
    }
    assert given == {"DynamicUser": "true", "ProtectSystem": "strict", "StateDirectory": "opsapi-agent"}
    assert agent.value("Service", "CapabilityBoundingSet") == ""
    of_machine = {name: agent.value("Service", name) for name in ("ProtectProc", "ProcSubset")}
    assert of_machine == {"ProtectProc": "default", "ProcSubset": "all"}


def _automation_unit(directory: Path) -> Path:
    """The file by which the guide changes the agent's unit, written as the guide writes it."""
    (block,) = (block.text for block in shell_blocks(AUTOMATION) if "automation.conf" in block.text)
    place = directory / f"{AGENT_UNIT.name}.d" / "automation.conf"
    place.parent.mkdir()
    place.write_text(block.partition("<<'END'\n")[2].partition("END\n")[0])
    return place


def test_servers_outlive_the_agent_s_unit_and_can_write_where_the_guide_says(tmp_path: Path) -> None:
    changed = read_unit(_automation_unit(tmp_path))
    (written,) = re.findall(r'^OPSAPI_AGENT_AUTOMATION_DIRS="(.+)"$', AUTOMATION.read_text(), re.MULTILINE)
    # The sockets of servers are in the directory for temporary files, where other users look for them.
    assert changed.value("Service", "PrivateTmp") == "false"
    assert changed.value("Service", "ReadWritePaths") == f"{written.replace(':', ' ')} /tmp"
    given = {name: changed.value("Service", name) for name in ("KillMode", "OOMPolicy", "DynamicUser")}
    assert given == {"KillMode": "process", "OOMPolicy": "continue", "DynamicUser": "false"}
    # The kernel does not say to a process in another user namespace which files a server has open.
    assert changed.value("Service", "PrivateUsers") == "false"
    # Servers ask for the addresses of their machine, compile JavaScript, and raise their limits.
    assert changed.value("Service", "RestrictAddressFamilies") == "AF_NETLINK"
    assert changed.value("Service", "MemoryDenyWriteExecute") == "false"
    assert changed.value("Service", "SystemCallFilter") == ""


def test_servers_have_the_limits_that_mongodb_recommends(tmp_path: Path) -> None:
    changed = read_unit(_automation_unit(tmp_path))
    limits = {name: changed.value("Service", name) for name in ("TasksMax", "LimitNPROC", "LimitMEMLOCK")}
    assert limits == {"TasksMax": "infinity", "LimitNPROC": "64000", "LimitMEMLOCK": "infinity"}
    assert int(read_unit(AGENT_UNIT).value("Service", "LimitNOFILE")) >= 64_000
    assert ("Service", "LimitNOFILE") not in changed.settings


@pytest.mark.slow
@pytest.mark.systemd
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for path in DEPLOY.rglob("*.service"):
        text = path.read_text().replace(PYTHON, sys.executable).replace("/usr/bin/python3", sys.executable)
        (tmp_path / path.name.replace("@", "@1")).write_text(text)
    made = sorted(map(str, tmp_path.iterdir()))
    assert _analyze("verify", "--man=no", *made) == (0, "")
    for made_path in made:
        status, said = _analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", made_path)
        assert status == 0, said
    _automation_unit(tmp_path)
    agent = str(tmp_path / AGENT_UNIT.name)
    assert _analyze("verify", "--man=no", agent) == (0, "")


def _analyze(*words: str) -> tuple[int, str]:
    program = shutil.which("systemd-analyze")
    assert program
    ended = subprocess.run([program, "--no-pager", *words], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stderr


def _check(values: dict[str, str]) -> tuple[int, str]:
    """The system checks of a process with these settings."""
    given = {
        **values,
        "SECRET_KEY": "a secret " * 8,
        "OPSAPI_ENCRYPTION_KEYS": "e" * 64,
        "OPSAPI_ENV_FILE": "/dev/null",
    }
    command = [sys.executable, str(ROOT / "manage.py"), "check", "--deploy", "--fail-level", "WARNING"]
    ended = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stderr if ended.returncode else ""
