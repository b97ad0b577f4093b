"""The first steps: the README, the start-up line and the login page lead to the same set-up."""

import re
from pathlib import Path

import pytest

from opsapi.setup_link import CREATE_KEY, first_project_call
from tests.documents import shell_blocks
from tests.processes.newcomer import (
    LOGIN,
    README,
    here,
    log_in,
    login_page_commands,
    second_terminal,
    set_up,
    setup_link_of,
)
from tests.processes.platform import RunningPlatform

pytestmark = pytest.mark.processes


def test_start_up_line_readme_and_login_page_lead_to_the_same_set_up(prepared: RunningPlatform) -> None:
    prepared.start()
    link, _, token = setup_link_of(prepared).partition("#")
    (line,) = (line for line in prepared.output.splitlines() if link in line)
    said = here(README.read_text(), prepared)
    assert line.replace(token, "…") in said
    assert f'href="{link.removeprefix(prepared.base_url)}"' in prepared.get(LOGIN).text
    prepared.stop()
    prepared.start()
    assert setup_link_of(prepared) == f"{link}#{token}"
    assert line in prepared.manage("prepare").stdout
    password = set_up(prepared, **{"X-Forwarded-For": "192.0.2.1"})
    assert log_in(prepared, "ada", password) == 302
    assert token not in prepared.log


def test_scripts_set_up_without_a_browser(prepared: RunningPlatform, tmp_path: Path) -> None:
    (script,) = (block.text for block in shell_blocks(README) if block.kind == "title")
    bootstrap, project = script.strip().splitlines()
    assert project == first_project_call("http://127.0.0.1:8000/api/public/v1.0")
    prepared.start()
    with second_terminal(prepared, tmp_path) as terminal:
        (password,) = re.findall(r"(?m)^password +(\S+)$", terminal.run(here(bootstrap, prepared)))
        assert log_in(prepared, "ada", password) == 403
        assert login_page_commands(prepared) == [CREATE_KEY, here(project, prepared)]
        terminal.run(here(project, prepared))
    assert log_in(prepared, "ada", password) == 302
