"""Prometheus itself, unchanged, discovers the hosts of a project (decisions 8 "discovery")."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from opsapi.api.links import DISCOVERY
from tests.api import bodies
from tests.eventually import eventually
from tests.processes.conftest import ProcessCaller
from tests.processes.platform import RunningPlatform, free_port

pytestmark = [pytest.mark.processes, pytest.mark.prometheus]

USERNAME, PASSWORD = "scraper", "a long enough passphrase"
STOP_SECONDS = 120.0
Labels = dict[str, str]


class Prometheus:
    """One Prometheus that asks the platform for targets every second and scrapes none of them."""

    def __init__(self, directory: Path) -> None:
        """`directory` holds its configuration and its data."""
        self.directory = directory
        self.base_url = f"http://127.0.0.1:{free_port()}"

    @contextmanager
    def running(self, *jobs: dict[str, Any]) -> Iterator[None]:
        """It runs with these jobs, until the end of the block."""
        config = self.directory / "prometheus.yml"
        config.write_text(json.dumps({"global": {"scrape_interval": "1h"}, "scrape_configs": jobs}))
        options = {
            "config.file": config,
            "storage.tsdb.path": self.directory / "data",
            "web.listen-address": self.base_url.removeprefix("http://"),
        }
        command = ["prometheus", *(f"--{name}={value}" for name, value in options.items())]
        with (self.directory / "log.txt").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)

    def targets(self) -> list[tuple[str, Labels]]:
        """Address and labels of every target it knows; none while it starts."""
        try:
            answer = requests.get(f"{self.base_url}/api/v1/targets?state=active", timeout=60)
        except requests.ConnectionError:
            return []
        found = answer.json()["data"]["activeTargets"] if answer.ok else []
        return sorted((target["discoveredLabels"]["__address__"], target["labels"]) for target in found)

    def failed_to_discover(self) -> bool:
        """Whether it was refused a list of targets."""
        counts = [
            line.split()[-1]
            for line in requests.get(f"{self.base_url}/metrics", timeout=60).text.splitlines()
            if line.startswith("prometheus_sd_http_failures_total")
        ]
        return any(float(count) > 0 for count in counts)


def job(name: str, platform: RunningPlatform, group: str, password: str = PASSWORD) -> dict[str, Any]:
    """What somebody writes into prometheus.yml; JSON is YAML."""
    discovery = {
        "url": f"{platform.base_url}{DISCOVERY}/groups/{group}/discovery",
        "refresh_interval": "1s",
        "basic_auth": {"username": USERNAME, "password": password},
    }
    return {"job_name": name, "http_sd_configs": [discovery]}


def report(owner: ProcessCaller, group: str, *hosts: dict[str, Any], **changes: Any) -> None:
    """A report of an agent."""
    owner.report(group, bodies.report(*hosts, **changes))


def test_it_lists_the_projects_hosts_with_their_labels(
    running: RunningPlatform, owner: ProcessCaller, tmp_path: Path
) -> None:
    prometheus = Prometheus(tmp_path)
    group = owner.post("/groups", {"name": "päyments"})
    scraper = {"username": USERNAME, "password": PASSWORD, "listenAddress": "0.0.0.0:9100"}
    owner.post(f"/groups/{group['id']}/integrations/SCRAPER", scraper)
    member = {"clusterName": "orders", "replicaSetName": "orders_0", "typeName": "REPLICA_PRIMARY"}
    labels = {"env": "prödüction = 1", "_": " ", "N" * 63: "v" * 255}
    hosts = [bodies.host(hostname="127.0.0.2", **member), bodies.host(hostname="::1")]
    report(owner, group["id"], *hosts)
    report(owner, group["id"], *hosts[:1], labels=labels)
    common = {"group_id": group["id"], "group_name": "päyments", "org_id": group["orgId"], "job": "databases"}
    first = {**common, "process_port": "27017", "cl_name": "orders", "rs_nm": "orders_0", **labels}
    expected = [
        ("127.0.0.2:9100", {**first, "instance": "127.0.0.2:9100"}),
        ("[::1]:9100", {**common, "process_port": "27017", "instance": "[::1]:9100"}),
    ]
    jobs = [job("databases", running, group["id"]), job("strangers", running, group["id"], "a wrong guess")]
    with prometheus.running(*jobs):
        eventually(lambda: prometheus.targets() == expected, message="two targets")
        eventually(prometheus.failed_to_discover, message="the stranger is refused")
        assert prometheus.targets() == expected
        report(owner, group["id"], bodies.host(hostname="127.0.0.3"))
        eventually(lambda: len(prometheus.targets()) == 3, message="a third target")
    for line in running.log.splitlines():
        assert PASSWORD not in line
