"""The first steps: the README, the start-up line and the login page say the same."""

import re
from pathlib import Path

import pytest

from opsapi.first_steps import BOOTSTRAP, first_project_call
from tests.documents import shell_blocks
from tests.processes.newcomer import (
    README,
    here,
    log_in,
    login_page_commands,
    second_terminal,
)
from tests.processes.platform import RunningPlatform

pytestmark = pytest.mark.processes


def test_start_up_line_and_login_page_say_the_same(prepared: RunningPlatform, tmp_path: Path) -> None:
    bootstrap, project, _ = (block.text.strip() for block in shell_blocks(README) if block.kind == "run")
    assert (bootstrap, project) == (BOOTSTRAP, first_project_call("http://127.0.0.1:8000/api/public/v1.0"))
    prepared.start()
    assert f"{bootstrap}\n" in prepared.output
    with second_terminal(prepared, tmp_path) as terminal:
        assert login_page_commands(prepared)[-1] == here(project, prepared)
        password = re.findall(r"(?m)^password +(\S+)$", terminal.run(here(bootstrap, prepared)))[0]
        assert log_in(prepared, "ada", password) == 403
        (command,) = login_page_commands(prepared)
        terminal.run(command)
    assert log_in(prepared, "ada", password) == 302


def test_the_login_page_is_enough_without_a_shell_on_the_server(
    prepared: RunningPlatform, tmp_path: Path
) -> None:
    prepared.start()
    with second_terminal(prepared, tmp_path) as terminal:
        first_user, project = login_page_commands(prepared)
        assert '"GLOBAL_OWNER"' in terminal.run(first_user)
        assert '"name":"first-project"' in terminal.run(project)
    (password,) = re.findall(r'"password": "([^"]+)"', first_user)
    assert log_in(prepared, "ada", password) == 302
    assert login_page_commands(prepared) == []
