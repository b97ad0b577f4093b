"""Logs of a real server: it rotates them on the command of the agent, which compresses and deletes them."""

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from automation.agent.automation.logs import log_settings, read_rules, tend_logs
from automation.plan.reading import flat_settings
from tests.processes.mongod import standalone

pytestmark = [pytest.mark.processes, pytest.mark.mongod]


@pytest.mark.parametrize("how", ["rename", "reopen"])
def test_a_real_server_rotates_its_log_and_goes_on_writing(tmp_path: Path, how: str) -> None:
    log = tmp_path / "mongod.log"
    day, options = {"sizeThresholdMB": 1000, "timeThresholdHrs": 24}, ("--logappend", "--logRotate", how)
    with standalone("--logpath", str(log), *options) as server, server.client() as client:
        began = datetime.now(UTC)
        arguments = client.admin.command("getCmdLineOpts")["parsed"]

        def tend(hours: int, **rules: int) -> list[list[str]]:
            work = tend_logs(
                log_settings(dict(flat_settings(arguments))),
                read_rules({**day, **rules}),
                [tmp_path],
                began + timedelta(hours=hours),
                lambda value: client.admin.command("logRotate", value),
            )
            assert work.problems == []
            return [[path.name for path in paths] for paths in (work.rotated, work.compressed, work.deleted)]

        content = log.read_bytes()
        assert tend(23) == [[], [], []]
        assert tend(25) == [["mongod.log"], [], []]
        (rotated,) = [path for path in tmp_path.iterdir() if path != log]
        assert rotated.read_bytes().startswith(content)
        (_, (compressed,), _) = tend(1, numUncompressed=1)
        assert gzip.decompress((tmp_path / compressed).read_bytes()).startswith(content)
        client.admin.command("setParameter", 1, logLevel=0)
        assert b"logLevel" in log.read_bytes()
        assert tend(1, numTotal=1) == [[], [], [compressed]]
        assert list(tmp_path.iterdir()) == [log]
