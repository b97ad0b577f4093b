"""Somebody new, who types what the documents and the login page say, in the order in which they say it."""

import html
import re
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.documents import ROOT, shell_blocks
from tests.processes.platform import RunningPlatform
from tests.processes.terminal import Terminal

README = ROOT / "README.md"
QUICKSTART = ROOT / "docs" / "quickstart.md"
LOGIN = "/admin/login/"
_SETUP_LINK = re.compile(r"http://\S+/admin/setup/#\S+")
_TYPED = {
    "username": "ada",
    "firstName": "Ada",
    "lastName": "Lovelace",
    "emailAddress": "ada@example.com",
    "name": "first-project",
}
_COMMAND = re.compile(r'<pre[^>]* id="command-\d"[^>]*>(.*?)</pre>', re.DOTALL)


@contextmanager
def second_terminal(platform: RunningPlatform, directory: Path, at: Path = ROOT) -> Iterator[Terminal]:
    """A terminal in the clone, or at another directory, next to the one in which the platform runs."""
    directory.mkdir(exist_ok=True)
    terminal = Terminal(directory, environment=platform.environment, at=at)
    try:
        yield terminal
    finally:
        terminal.end()


def server_environment(document: Path) -> dict[str, str]:
    """The settings that the reader sets before `make run`; the test uses its own platform instead."""
    (command,) = (block.text for block in shell_blocks(document) if block.kind == "server")
    *settings, make, run = shlex.split(command)
    assert (make, run) == ("make", "run")
    return dict(setting.split("=", 1) for setting in settings)


def type_document(document: Path, terminal: Terminal, platform: RunningPlatform) -> list[str]:
    """Types every block, waits for the words it names, and returns what each printed until its end."""
    printed = []
    for block in shell_blocks(document):
        if block.kind == "run":
            before = terminal.text
            printed.append(terminal.run(here(block.text, platform)))
            terminal.await_words(block.words, before)
    return printed


def here(text: str, platform: RunningPlatform) -> str:
    """What the documents say, with the program and the port of this run."""
    text = text.strip().replace(".venv/bin/python manage.py", shlex.join(platform.program))
    return text.replace("127.0.0.1:8000", f"127.0.0.1:{platform.port}")


def assert_quickstart(printed: list[str], everything: str) -> None:
    """Each block of the quickstart printed what the text says, and the receiver got every notification."""
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


def login_page_commands(platform: RunningPlatform) -> list[str]:
    """The commands of the login page, as its buttons copy them."""
    return [html.unescape(command) for command in _COMMAND.findall(platform.get(LOGIN).text)]


def setup_link_of(platform: RunningPlatform) -> str:
    """The link that the start printed."""
    (link,) = _SETUP_LINK.findall(platform.output)
    return str(link)


def set_up(platform: RunningPlatform, **headers: str) -> str:
    """By the link of the start, sent with these headers: the first user ada, whose password this returns."""
    link, _, token = setup_link_of(platform).partition("#")
    password = secrets.token_urlsafe()
    with requests.Session() as browser:
        browser.headers.update(headers)
        form = browser.get(link, timeout=60)
        if "data-setup-token" in form.text:
            given = {"token": token, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
            form = browser.post(f"{link}token/", data=given, timeout=60)
        assert (form.url, form.status_code) == (link, 200), form.text
        typed = {**_TYPED, "password": password, "again": password}
        typed["csrfmiddlewaretoken"] = browser.cookies["csrftoken"]
        done = browser.post(link, data=typed, timeout=60)
        assert done.url == f"{platform.base_url}/admin/mail-server/", done.text
    return password


def log_in(platform: RunningPlatform, username: str, password: str) -> int:
    """The status with which the console answers: 302 lets in."""
    with requests.Session() as browser:
        login = platform.base_url + LOGIN
        browser.get(login, timeout=60)
        typed = {"username": username, "password": password}
        token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        return browser.post(login, data=typed | token, allow_redirects=False, timeout=60).status_code
