"""README.md, block by block in one shell, as a reader would type it.

`make faults` types docs/quickstart.md as well, twice. `test_wheel` types it for an installed package.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.documents import blocks
from tests.hostile.budget import LONG
from tests.processes.newcomer import (
    QUICKSTART,
    README,
    assert_quickstart,
    here,
    log_in,
    second_terminal,
    server_environment,
    set_up,
    type_document,
)
from tests.processes.platform import RunningPlatform
from tests.processes.terminal import Terminal

_missing = [name for name in ("bash", "curl") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)}"),
]


def test_the_readme_answers_what_it_says(prepared: RunningPlatform, tmp_path: Path) -> None:
    assert server_environment(README) == {}
    platform = prepared  # test_wheel starts with an empty directory.
    platform.start()
    password = set_up(platform)
    with second_terminal(platform, tmp_path) as terminal:
        _assert_begun(type_document(README, terminal, platform), platform)
        if LONG:
            platform.stop()
            platform.environment |= server_environment(QUICKSTART)
            platform.start()
            assert_quickstart(type_document(QUICKSTART, terminal, platform), terminal.text)
            _assert_it_can_be_typed_again(terminal, platform)
    assert log_in(platform, "ada", password) == 302


def _assert_it_can_be_typed_again(terminal: Terminal, platform: RunningPlatform) -> None:
    """Type the quickstart in another terminal, and run `make demo` in addition."""
    before = len(terminal.text)
    terminal.run("unset PUBLIC_KEY PRIVATE_KEY")
    assert_quickstart(type_document(QUICKSTART, terminal, platform), terminal.text[before:])
    demo = platform.manage("demo")
    assert demo.returncode == 0, demo.stderr
    again = platform.manage("demo")
    assert (again.returncode, "nothing changed" in again.stdout) == (0, True), again.stderr


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
