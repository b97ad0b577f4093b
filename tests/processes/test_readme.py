"""The README's first screen, as somebody who just cloned the project would type it."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT, Block, blocks, shell_blocks
from tests.processes.platform import Platform
from tests.processes.terminal import Terminal

README = ROOT / "README.md"

pytestmark = pytest.mark.processes


def test_its_commands_answer_what_it_says(platform: Platform, tmp_path: Path) -> None:
    server, bootstrap, ask = shell_blocks(README)
    assert (server.kind, server.text) == ("server", "make run\n")
    platform.start()
    terminal = Terminal(tmp_path, environment=platform.environment, at=ROOT)
    try:
        printed = terminal.run(_here(bootstrap, platform))
        found = dict(re.findall(r"^(public|private) key +(\S+)$", printed, re.MULTILINE))
        terminal.run(f"PUBLIC_KEY={found['public']} PRIVATE_KEY={found['private']}")
        answer = json.loads(terminal.run(f"{_here(ask, platform)} 2>{os.devnull}"))
    finally:
        terminal.end()
    _assert_shown(answer, platform)


def _assert_shown(answer: dict[str, object], platform: Platform) -> None:
    """What the README prints of it is there; it leaves out links."""
    (shown,) = (json.loads(_here(block, platform)) for block in blocks(README) if block.language == "json")
    links, build = shown.pop("links"), shown.pop("build")
    assert isinstance(answer["links"], list)
    assert all(link in answer["links"] for link in links)
    assert re.fullmatch(r"[0-9a-f]{4}…", build)
    assert {name: answer[name] for name in shown} == shown


def _here(block: Block, platform: Platform) -> str:
    """At the places of this run."""
    text = block.text.strip().replace(".venv/bin/python", sys.executable)
    return text.replace("127.0.0.1:8000", f"127.0.0.1:{platform.port}")
