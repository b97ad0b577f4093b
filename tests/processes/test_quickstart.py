"""docs/quickstart.md, block by block in one shell, as a reader would type it."""

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.eventually import eventually
from tests.processes.platform import ROOT, Platform, free_port

_missing = [name for name in ("bash", "curl") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)}"),
]

DOCUMENT = (ROOT / "docs" / "quickstart.md").read_text()
# A block: its kind (`server`, `run`), what the receiver prints before the reader goes on, its lines.
BLOCK = re.compile(r"^```sh (\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVER, RECEIVER = "127.0.0.1:8000", "8001"


class Terminal:
    """A bash that stops at the first error, its output in a file."""

    def __init__(self, directory: Path) -> None:
        """`directory` is for what it prints, and for temporary files."""
        self._output = directory / "terminal.txt"
        with self._output.open("wb") as file:
            self._bash = subprocess.Popen(
                ["bash", "-euo", "pipefail"],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "TMPDIR": str(directory)},
                start_new_session=True,
            )
        self._blocks = 0

    @property
    def text(self) -> str:
        """Everything printed so far."""
        return self._output.read_text()

    def run(self, block: str) -> str:
        """Types a block, waits for its end, and returns what was printed meanwhile."""
        before = len(self.text)
        self._blocks += 1
        mark = f"--- block {self._blocks} ended"
        self._input.write(f"{block}\necho '{mark}'\n")
        self._input.flush()
        eventually(lambda: mark in self.text or self._bash.poll() is not None, message=block)
        assert mark in self.text, f"{block}\n{self.text}"
        return self.text[before:].replace(f"{mark}\n", "")

    def await_words(self, words: str) -> None:
        """Until they have been printed, by the receiver in the background."""
        eventually(lambda: words in self.text, message=words)

    def end(self) -> None:
        """Ends the shell and what it started in the background, as closing a terminal does."""
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()
        self._input.close()

    @property
    def _input(self) -> IO[str]:
        assert self._bash.stdin is not None
        return self._bash.stdin


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
        printed.append(terminal.run(block))
        terminal.await_words(words)
    assert re.findall(r"(alert\.\w+ HOST_DOWN \S+) delivery [0-9a-f]{24} genuine\n", terminal.text) == [
        "alert.open HOST_DOWN db1.example.com:27017",
        "alert.close HOST_DOWN db1.example.com:27017",
    ]
    _assert_each_block_showed_what_the_text_says(printed)


def _assert_each_block_showed_what_the_text_says(printed: list[str]) -> None:
    _, _, root, project, config, down, opened, up, closed, log, end = printed
    assert '"appName": "Ops API"' in root
    assert project == end == ""
    assert '"webhookUrl": "http://127.0.0.1' in config
    assert "secret of our own" not in config
    assert '"hosts":1' in down
    assert '"hosts":1' in up
    assert '"status": "OPEN"' in opened
    assert '"status": "CLOSED"' in closed
    for event_type in ("GROUP_CREATED", "ALERT_CONFIG_ADDED_AUDIT", "NEW_HOST", "HOST_DOWN", "HOST_UP"):
        assert event_type in log


def _blocks_to_run(platform: Platform) -> list[tuple[str, str]]:
    """What to wait for afterwards and what to type, at the addresses of this run."""
    receiver = str(free_port())
    return [
        (words, text.replace(SERVER, f"127.0.0.1:{platform.port}").replace(RECEIVER, receiver))
        for kind, words, text in BLOCK.findall(DOCUMENT)
        if kind == "run"
    ]


def _server_environment() -> dict[str, str]:
    """What the reader sets before `make run`, for which the fixture stands in."""
    (command,) = (text for kind, _, text in BLOCK.findall(DOCUMENT) if kind == "server")
    *settings, make, run = shlex.split(command)
    assert (make, run) == ("make", "run")
    return dict(setting.split("=", 1) for setting in settings)
