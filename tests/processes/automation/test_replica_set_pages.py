"""The pages about replica sets, block by block: from three empty machines, and over two major versions."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from opsapi.api.links import PUBLIC
from tests.documents import ROOT, shell_blocks
from tests.plugin import SUMMARY
from tests.processes.automated_set import MACHINES, automated_set
from tests.processes.mongod import OLDER_VERSIONS, VERSION
from tests.processes.scenario import Scenario
from tests.processes.terminal import Terminal

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

PAGES = ROOT / "docs" / "how-to"
_MINUTES = 600.0
_DOCUMENT = re.compile(r"(?<=<<'END'\n)\{.*\n\}(?=\nEND)", re.DOTALL)


def blocks(page: str) -> list[str]:
    return [block.text for block in shell_blocks(PAGES / page) if block.kind == "run"]


@contextmanager
def closing_terminal(directory: Path, variables: dict[str, str]) -> Iterator[Terminal]:
    terminal = Terminal(directory, environment=variables, at=directory)
    try:
        yield terminal
    finally:
        terminal.end()


def test_three_empty_machines_become_a_replica_set_that_is_upgraded_without_a_failed_write(
    scenario: Scenario, tmp_path: Path, record_property: Any
) -> None:
    with automated_set(scenario, *MACHINES, versions=(*OLDER_VERSIONS, VERSION)) as replica_set:
        variables = {
            **os.environ,
            "PUBLIC_KEY": scenario.owner.public_key,
            "PRIVATE_KEY": scenario.owner.private_key,
            "URL": f"{scenario.site.platform.base_url}{PUBLIC}",
            "GROUP": scenario.group,
        }
        write, *others = blocks("create-a-replica-set.md")
        (page,) = _DOCUMENT.findall(write)
        plan = scenario.owner.put(f"{scenario.path}/automationConfig?dryRun=true", json.loads(page))["plan"]
        assert "INITIATE" in str(plan)
        small = json.dumps(replica_set.like(json.loads(page)))
        with closing_terminal(tmp_path, variables) as terminal:
            for block in (write.replace(page, small), *others):
                terminal.run(block, _MINUTES)
            with replica_set.load() as writes:
                for block in blocks("upgrade-a-replica-set.md"):
                    terminal.run(block, _MINUTES)
        record_property(SUMMARY, writes.summary)
        assert writes.failures == []
        with replica_set.client() as client:
            assert client.server_info()["version"] == VERSION
            feature = client.admin.command("getParameter", featureCompatibilityVersion=1)
            assert feature["featureCompatibilityVersion"]["version"] == VERSION.rpartition(".")[0]
            assert client.shop.orders.count_documents({}) == writes.count
