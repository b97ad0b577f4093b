"""README.md, typed as a reader does: start-up line, README and login page lead to the same set-up.

`test_wheel` types its lines for scripts and docs/quickstart.md for an installed package. `make faults` types
the quickstart here as well, twice.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import blocks
from tests.eventually import eventually, is_running
from tests.hostile.budget import LONG
from tests.processes.newcomer import (
    LOGIN,
    QUICKSTART,
    README,
    assert_quickstart,
    here,
    log_in,
    second_terminal,
    server_environment,
    set_up,
    setup_link_of,
    type_document,
)
from tests.processes.platform import RunningPlatform, descendants, prepared_installation
from tests.processes.terminal import Terminal

_missing = [name for name in ("bash", "curl") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)}"),
]
MAKE_RUN = ("sh", "-c", '"$0" "$@" --parent $$; true')
"""A shell that starts the platform as `make run` does. It does not become the platform."""


@pytest.fixture(scope="module")
def cloned() -> Iterator[RunningPlatform]:
    """An installation with the settings of the quickstart, in a clone."""
    assert server_environment(README) == {}
    with prepared_installation(**server_environment(QUICKSTART)) as made:
        yield made


@pytest.fixture
def begun(cloned: RunningPlatform) -> RunningPlatform:
    """The same, started as the README says."""
    if not cloned.is_up:
        cloned.launch(*MAKE_RUN)
        cloned.wait_ready()
    return cloned


def test_start_up_line_readme_and_login_page_lead_to_the_same_set_up(
    begun: RunningPlatform, tmp_path: Path
) -> None:
    link, _, token = setup_link_of(begun).partition("#")
    (line,) = (line for line in begun.output.splitlines() if link in line)
    assert line.replace(token, "…") in here(README.read_text(), begun)
    assert f'href="{link.removeprefix(begun.base_url)}"' in begun.get(LOGIN).text
    assert line in begun.manage("prepare").stdout
    password = set_up(begun, **{"X-Forwarded-For": "192.0.2.1"})
    with second_terminal(begun, tmp_path) as terminal:
        _assert_begun(type_document(README, terminal, begun), begun)
        if LONG:
            assert_quickstart(type_document(QUICKSTART, terminal, begun), terminal.text)
            _assert_it_can_be_typed_again(terminal, begun)
    assert log_in(begun, "ada", password) == 302
    assert token not in begun.log


def _assert_begun(printed: list[str], platform: RunningPlatform) -> None:
    """The README's command answers what it prints, links aside."""
    (root,) = printed
    answer = json.loads(root[root.index("{\n") :])
    (shown,) = (
        json.loads(here(block.text, platform)) for block in blocks(README) if block.language == "json"
    )
    links, build = shown.pop("links"), shown.pop("build")
    assert isinstance(answer["links"], list)
    assert all(link in answer["links"] for link in links)
    assert re.fullmatch(r"[0-9a-f]{4}…", build)
    assert {name: answer[name] for name in shown} == shown


def _assert_it_can_be_typed_again(terminal: Terminal, platform: RunningPlatform) -> None:
    """Type the quickstart in another terminal, and run `make demo` in addition."""
    before = len(terminal.text)
    terminal.run("unset PUBLIC_KEY PRIVATE_KEY")
    assert_quickstart(type_document(QUICKSTART, terminal, platform), terminal.text[before:])
    demo = platform.manage("demo")
    assert demo.returncode == 0, demo.stderr
    again = platform.manage("demo")
    assert (again.returncode, "nothing changed" in again.stdout) == (0, True), again.stderr


def test_it_ends_with_its_shell_and_starts_at_once(begun: RunningPlatform) -> None:
    processes = descendants(begun.pid)
    begun.kill()
    begun.launch()  # at once: it waits for the other to finish
    eventually(lambda: begun.find_child("prepare"), message="the preparation runs")
    assert not any(map(is_running, processes))
    assert begun.stop() == 0
