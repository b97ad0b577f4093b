"""The first screen of README.md, as somebody who just cloned the project would type it."""

import json
import re
from pathlib import Path

import pytest

from opsapi.first_steps import BOOTSTRAP, first_project_call
from tests.documents import blocks, shell_blocks
from tests.processes.newcomer import (
    README,
    here,
    log_in,
    login_page_commands,
    second_terminal,
    server_environment,
    type_document,
)
from tests.processes.platform import Platform

pytestmark = pytest.mark.processes


def test_its_commands_answer_what_it_says(platform: Platform, tmp_path: Path) -> None:
    assert server_environment(README) == {}
    platform.start()
    with second_terminal(platform, tmp_path) as terminal:
        first_user, project, root = type_document(README, terminal, platform)
    (password,) = re.findall(r"(?m)^password +(\S+)$", first_user)
    assert '"name":"first-project"' in project
    assert log_in(platform, "ada", password) == 302
    _assert_shown(json.loads(root[root.index("{\n") :]), platform)
    demo = platform.manage("demo")
    assert demo.returncode == 0, demo.stderr
    again = platform.manage("demo")
    assert (again.returncode, "nothing changed" in again.stdout) == (0, True), again.stderr
    assert log_in(platform, "ada", password) == 302


def test_start_up_line_and_login_page_say_the_same(platform: Platform, tmp_path: Path) -> None:
    bootstrap, project, _ = (block.text.strip() for block in shell_blocks(README) if block.kind == "run")
    assert (bootstrap, project) == (BOOTSTRAP, first_project_call("http://127.0.0.1:8000/api/public/v1.0"))
    platform.start()
    assert f"{bootstrap}\n" in platform.output
    with second_terminal(platform, tmp_path) as terminal:
        assert login_page_commands(platform)[-1] == here(project, platform)
        password = re.findall(r"(?m)^password +(\S+)$", terminal.run(here(bootstrap, platform)))[0]
        assert log_in(platform, "ada", password) == 403
        (command,) = login_page_commands(platform)
        terminal.run(command)
    assert log_in(platform, "ada", password) == 302


def test_the_login_page_is_enough_without_a_shell_on_the_server(platform: Platform, tmp_path: Path) -> None:
    platform.start()
    with second_terminal(platform, tmp_path) as terminal:
        first_user, project = login_page_commands(platform)
        assert '"GLOBAL_OWNER"' in terminal.run(first_user)
        assert '"name":"first-project"' in terminal.run(project)
    (password,) = re.findall(r'"password": "([^"]+)"', first_user)
    assert log_in(platform, "ada", password) == 302
    assert login_page_commands(platform) == []


def _assert_shown(answer: dict[str, object], platform: Platform) -> None:
    """What the README prints of it is there; it leaves out links."""
    (shown,) = (
        json.loads(here(block.text, platform)) for block in blocks(README) if block.language == "json"
    )
    links, build = shown.pop("links"), shown.pop("build")
    assert isinstance(answer["links"], list)
    assert all(link in answer["links"] for link in links)
    assert re.fullmatch(r"[0-9a-f]{4}…", build)
    assert {name: answer[name] for name in shown} == shown
