"""docs/quickstart.md, block by block in one shell, as a reader would type it."""

import re
import shutil
from pathlib import Path

import pytest

from tests.processes.newcomer import (
    QUICKSTART,
    README,
    second_terminal,
    server_environment,
    type_document,
)
from tests.processes.platform import Platform

_missing = [name for name in ("bash", "curl") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)}"),
]


def test_it_goes_on_from_the_readme_and_can_be_run_again(platform: Platform, tmp_path: Path) -> None:
    platform.start()
    with second_terminal(platform, tmp_path) as terminal:
        type_document(README, terminal, platform)
        platform.stop()
        platform.environment |= server_environment(QUICKSTART)
        platform.start()
        _assert_shown(type_document(QUICKSTART, terminal, platform), terminal.text)
        before = len(terminal.text)
        terminal.run("unset PUBLIC_KEY PRIVATE_KEY")  # as in another terminal
        _assert_shown(type_document(QUICKSTART, terminal, platform), terminal.text[before:])
    demo = platform.manage("demo")
    assert demo.returncode == 0, demo.stderr


def _assert_shown(printed: list[str], everything: str) -> None:
    """The receiver has printed every notification, and each block what the text says."""
    assert re.findall(r"(?m)^(alert\.\w+ \w+) (\S*)$", everything) == [
        ("alert.inform ALERT_CONFIG_TESTED_AUDIT", ""),
        ("alert.open HOST_DOWN", "db1.example.com:27017"),
        ("alert.acknowledge HOST_DOWN", "db1.example.com:27017"),
        ("alert.close HOST_DOWN", "db1.example.com:27017"),
    ]
    _, root, _, agent, config, test, down, opened, acknowledged, up, closed, log, _ = printed
    assert '"appName": "Ops API"' in root
    assert agent == ""
    assert '"webhookUrl": "http://127.0.0.1' in config
    assert "secret of our own" not in config
    assert '"DELIVERED"' in test
    assert '"hosts":1' in down
    assert '"hosts":1' in up
    assert '"status": "OPEN"' in opened
    assert '"acknowledgementComment": "Replacing the disk"' in acknowledged
    assert '"status": "CLOSED"' in closed
    for event_type in ("GROUP_CREATED", "ALERT_CONFIG_ADDED_AUDIT", "NEW_HOST", "HOST_DOWN", "HOST_UP"):
        assert event_type in log
