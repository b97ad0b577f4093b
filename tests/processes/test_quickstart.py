"""docs/quickstart.md, block by block in one shell, as a reader would type it."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.documents import ROOT, shell_blocks
from tests.processes.platform import Platform, free_port
from tests.processes.terminal import Terminal

_missing = [name for name in ("bash", "curl") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)}"),
]

DOCUMENT = ROOT / "docs" / "quickstart.md"
SERVER, RECEIVER = "127.0.0.1:8000", "8001"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A reader's second terminal."""
    made = Terminal(tmp_path)
    yield made
    made.end()


def test_it_is_true_to_the_letter(platform: Platform, terminal: Terminal) -> None:
    platform.environment |= _server_environment()
    platform.start()
    printed = []
    for words, block in _blocks_to_run(platform):
        before = terminal.text
        if "acknowledgedUntil" in block:
            _acknowledge_in_the_console(platform)
        printed.append(terminal.run(block))
        terminal.await_words(words, before)
    assert re.findall(r"(alert\.\w+ HOST_DOWN \S+) delivery [0-9a-f]{24} genuine\n", terminal.text) == [
        "alert.open HOST_DOWN db1.example.com:27017",
        "alert.close HOST_DOWN db1.example.com:27017",
        "alert.open HOST_DOWN db1.example.com:27017",
        "alert.acknowledge HOST_DOWN db1.example.com:27017",
    ]
    _assert_each_block_showed_what_the_text_says(printed)


def _assert_each_block_showed_what_the_text_says(printed: list[str]) -> None:
    _, _, root, project, config, down, opened, up, closed, log, again, acknowledged, end = printed
    assert '"appName": "Ops API"' in root
    assert project == end == ""
    assert '"webhookUrl": "http://127.0.0.1' in config
    assert "secret of our own" not in config
    assert '"hosts":1' in down
    assert '"hosts":1' in up
    assert '"hosts":1' in again
    assert re.search(r"^db1.example.com:27017 ada@example.com 20\S+Z$", acknowledged, re.MULTILINE)
    assert '"status": "OPEN"' in opened
    assert '"status": "CLOSED"' in closed
    for event_type in ("GROUP_CREATED", "ALERT_CONFIG_ADDED_AUDIT", "NEW_HOST", "HOST_DOWN", "HOST_UP"):
        assert event_type in log


def _acknowledge_in_the_console(platform: Platform) -> None:
    """As the reader does in a browser: log in, go to the open alert, acknowledge it as the page proposes."""
    with requests.Session() as browser:
        login = f"{platform.base_url}/admin/login/"
        browser.get(login)
        _send(browser, login, username="ada@example.com", password="a long enough passphrase")
        alerts = browser.get(f"{platform.base_url}/admin/alerting/alert/?status=OPEN").text
        (alert,) = set(re.findall(r"/admin/alerting/alert/([0-9a-f]{24})/", alerts))
        page = f"{platform.base_url}/admin/alerting/alert/{alert}/do/acknowledge/"
        assert "Acknowledge" in browser.get(page).text
        _send(browser, page, confirmed="yes", until="1h")


def _send(browser: requests.Session, url: str, **values: str) -> None:
    token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
    answer = browser.post(url, data=values | token, allow_redirects=False)
    assert answer.status_code == 302, answer.text


def _blocks_to_run(platform: Platform) -> list[tuple[str, str]]:
    """What to wait for afterwards and what to type, at the addresses of this run."""
    receiver = str(free_port())
    return [
        (block.words, block.text.replace(SERVER, f"127.0.0.1:{platform.port}").replace(RECEIVER, receiver))
        for block in shell_blocks(DOCUMENT)
        if block.kind == "run"
    ]


def _server_environment() -> dict[str, str]:
    """What the reader sets before `make run`, for which the fixture stands in."""
    (command,) = (block.text for block in shell_blocks(DOCUMENT) if block.kind == "server")
    *settings, make, run = shlex.split(command)
    assert (make, run) == ("make", "run")
    return dict(setting.split("=", 1) for setting in settings)
