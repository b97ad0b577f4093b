"""The agent as it is downloaded: whole, the same each time, and with nothing but Python runnable."""

import hashlib
import io
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.test import Client

from accesslist.models import Project
from automation.agent_file import agent_file
from automation.models import Agent
from opsapi import VERSION
from tests.client import ApiClient
from tests.deployment import AGENT_UNIT

pytestmark = pytest.mark.django_db

FILE = "/agents/v1.0/opsapi-agent.pyz"
FACTS = "/agents/v1.0/opsapi-agent.json"
SERVED = (FILE, f"{FILE}.sha256", FACTS, "/agents/v1.0/opsapi-agent.service")


def _oldest() -> str | None:
    """A Python 3.9 that starts: one on the path may be a shim of pyenv without any behind it."""
    found = [shutil.which("python3.9"), *sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python"))]
    for program in map(str, filter(None, found)):
        if subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0:
            return program
    return None


OLDEST = _oldest()

each_python = pytest.mark.parametrize(
    "python",
    [
        sys.executable,
        pytest.param(OLDEST, marks=pytest.mark.skipif(OLDEST is None, reason="not installed: Python 3.9")),
    ],
    ids=["this", "3.9"],
)


@pytest.fixture
def downloaded(client: Client, tmp_path: Path) -> Path:
    """The file, where nothing else is."""
    path = tmp_path / "opsapi-agent.pyz"
    path.write_bytes(client.get(FILE).content)
    return path


def run(python: str, file: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it with Python's own library alone: -I ignores the environment, -S what is installed."""
    command = [python, "-I", "-S", "-W", "error", str(file), *words]
    return subprocess.run(
        command, env=environment, cwd=file.parent, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@each_python
def test_it_runs_with_python_alone(python: str, downloaded: Path) -> None:
    ended = run(python, downloaded, "--version")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{VERSION}\n", "")


@pytest.mark.slow
@each_python
def test_it_checks_with_python_alone_whether_it_can_report(python: str, downloaded: Path) -> None:
    config = downloaded.with_name("opsapi-agent.toml")
    config.touch(mode=0o600)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        config.write_text(
            f'OPSAPI_AGENT_URL="http://127.0.0.1:{unused.getsockname()[1]}"\n'
            f'OPSAPI_AGENT_GROUP_ID="{"a" * 24}"\n'
            'OPSAPI_AGENT_PUBLIC_KEY="public"\n'
            'OPSAPI_AGENT_PRIVATE_KEY="private-secret"\n'
            f'OPSAPI_AGENT_MONGODB="mongodb://127.0.0.1:{unused.getsockname()[1]}"\n'
            f'OPSAPI_AGENT_SPOOL_DIR="{downloaded.parent}/spool"\n'
        )
        ended = run(python, downloaded, "--config", str(config), "--check", no_proxy="*")
    began = [line[:6].strip() for line in ended.stdout.splitlines()]
    expected = ["ok", "ok", "ok", "ok", "FAILED", "ok", "FAILED", "ok"]
    assert (ended.returncode, began, ended.stderr) == (1, expected, "")
    assert "private-secret" not in ended.stdout


@pytest.mark.slow
@each_python
def test_it_resolves_names_of_clusters_where_the_library_for_it_runs(python: str, downloaded: Path) -> None:
    """An older Python would load an older version of the library, from the system, or none."""
    config = downloaded.with_name("opsapi-agent.toml")
    config.touch(mode=0o600)
    config.write_text(
        'OPSAPI_AGENT_URL="http://127.0.0.1:1"\n'
        f'OPSAPI_AGENT_GROUP_ID="{"a" * 24}"\n'
        'OPSAPI_AGENT_PUBLIC_KEY="public"\n'
        'OPSAPI_AGENT_PRIVATE_KEY="private-secret"\n'
        'OPSAPI_AGENT_MONGODB="mongodb+srv://cluster.example.com/"\n'
        f'OPSAPI_AGENT_SPOOL_DIR="{downloaded.parent}/spool"\n'
    )
    ended = run(python, downloaded, "--config", str(config), "--check", no_proxy="*")
    is_old = python == OLDEST
    assert ("needs Python 3.11" in ended.stdout + ended.stderr) is is_old
    assert "Traceback" not in ended.stderr


def test_a_library_that_needs_a_newer_python_is_not_found_by_an_older(client: Client) -> None:
    with zipfile.ZipFile(io.BytesIO(client.get(FILE).content)) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.startswith("dns/")]


def test_the_empty_report_of_the_check_leaves_nothing(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    assert agent.report(project.id, {}).status_code == 400
    assert reader.report(project.id, {}).status_code == 403
    assert not Agent.objects.exists()


def test_it_needs_no_login_and_shows_everything(client: Client) -> None:
    answer = client.get(FILE)
    digest = hashlib.sha256(answer.content).hexdigest()
    assert answer.headers["Content-Length"] == str(len(answer.content))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="opsapi-agent.pyz"'
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert client.get(f"{FILE}.sha256").content.decode() == f"{digest}  opsapi-agent.pyz\n"
    facts = {"version": VERSION, "sha256": digest, "size": len(answer.content)}
    assert client.get(FACTS).json() == facts


@pytest.mark.parametrize("path", SERVED)
def test_what_a_client_has_is_not_sent_again(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.headers["Cache-Control"] == "no-cache"
    again = client.get(path, headers={"if-none-match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", SERVED)
def test_head_answers_without_a_body(client: Client, path: str) -> None:
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(whole.content))


@pytest.mark.parametrize("path", SERVED)
def test_it_is_only_read(client: Client, path: str) -> None:
    answer = client.post(path, {}, content_type="application/json")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.json()["errorCode"] == "METHOD_NOT_ALLOWED"


def test_other_paths_next_to_it_need_a_key_as_before(client: Client) -> None:
    answer = client.get("/agents/v1.0/opsapi-agent.exe")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "UNAUTHORIZED")


def test_the_unit_is_the_one_of_the_deployment(client: Client) -> None:
    assert client.get("/agents/v1.0/opsapi-agent.service").content == AGENT_UNIT.read_bytes()


def test_the_same_octets_are_created_again() -> None:
    first = agent_file().octets
    agent_file.cache_clear()
    assert agent_file().octets == first


def test_another_process_makes_the_same_octets() -> None:
    program = "from automation.agent_file import agent_file; print(agent_file().sha256)"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env={"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == agent_file().sha256


def test_it_holds_source_and_licences_and_nothing_else() -> None:
    with zipfile.ZipFile(io.BytesIO(agent_file().octets)) as archive:
        names = archive.namelist()
        licences = {name.split("-")[0]: archive.read(name) for name in names if name.startswith("LICENSES/")}
    assert names == sorted(names)
    assert all(name.endswith(".py") for name in names if not name.startswith("LICENSES/"))
    assert {"automation/agent/__main__.py", "pymongo/__init__.py", "python311/dns/__init__.py"} <= set(names)
    assert licences.keys() == {
        "LICENSES/opsapi.txt",
        *(f"LICENSES/{library}" for library in ("pymongo", "dnspython", "tomli")),
    }
    assert b"Apache License" in licences["LICENSES/pymongo"]
    assert b"Permission to use, copy" in licences["LICENSES/dnspython"]
    assert b"Permission is hereby granted" in licences["LICENSES/tomli"]
