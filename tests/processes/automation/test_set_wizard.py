"""The wizard of the console makes a replica set of three machines: real agents and servers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.admin.typed import typed_in
from tests.eventually import eventually
from tests.processes.automated_set import DOWNLOADS, MACHINES, SET, AutomatedSet, automated_set
from tests.processes.conftest import log_in_console
from tests.processes.mongod import VERSION
from tests.processes.platform import free_port
from tests.processes.scenario import Scenario

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

WIZARD = "/admin/automation/automationrevision/do/replica-set/"
NAMES = ("rs_1", "rs_2", "rs_3")


@pytest.fixture
def replica_set(scenario: Scenario, tmp_path: Path) -> Iterator[AutomatedSet]:
    """Three machines, on which nothing runs yet."""
    port = free_port()
    with automated_set(scenario, *MACHINES, versions=[VERSION], data=tmp_path) as machines:
        machines.at_port(port, *NAMES)
        yield machines
    Path(f"/tmp/mongodb-{port}.sock").unlink(missing_ok=True)  # noqa: S108 - where MongoDB puts it


class WizardPage:
    """The page of the wizard in a browser without scripts."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._url = f"{scenario.site.platform.base_url}{WIZARD}?group={scenario.group}"
        self._session = requests.Session()
        self._session.cookies.update(log_in_console(scenario.site.platform))

    def inputs(self) -> dict[str, Any]:
        """The inputs of the page when it is opened."""
        page = self._session.get(self._url, timeout=60)
        assert page.status_code == 200, page.text
        return typed_in(page.text)

    def send(self, inputs: dict[str, Any]) -> requests.Response:
        """Send the form, and follow where it leads."""
        page = self._session.post(self._url, inputs, headers={"Referer": self._url}, timeout=60)
        assert page.status_code == 200, page.text
        return page


def test_three_machines_become_a_replica_set_from_a_form(
    scenario: Scenario, replica_set: AutomatedSet, tmp_path: Path
) -> None:
    page = WizardPage(scenario)
    agents = eventually(
        lambda: [inputs for inputs in [page.inputs()] if inputs["machine_3"] != [""]],
        message="the agents report",
    )
    inputs = agents[0]
    assert [inputs[f"machine_{number}"] for number in (1, 2, 3)] == [[machine] for machine in MACHINES]
    (version,) = replica_set.machines[0].versions
    (build,) = version["builds"]
    shown = page.send(
        {
            **inputs,
            "name": SET,
            "port": str(replica_set.port(NAMES[0])),
            "new_version": VERSION,
            "url": build["url"],
            "commit": build["gitVersion"],
            "platform": build["platform"],
            "architecture": build["architecture"],
            # The helper has the member rs_1 on the second of its machines.
            **{f"machine_{place}": replica_set.machine(name).host for place, name in enumerate(NAMES, 1)},
            "data_base": str(tmp_path),
            "download_base": DOWNLOADS,
        }
    )
    assert "initiates the replica set rs with rs_1, rs_2, rs_3" in shown.text
    progress = page.send(typed_in(shown.text))
    assert progress.url.endswith(f"/admin/automation-plan/?project={scenario.group}")
    assert "Version 1 was published" in progress.text
    replica_set.reaches(1, *NAMES)
    states = ["PRIMARY", "SECONDARY", "SECONDARY"]
    eventually(lambda: sorted(replica_set.member_states().values()) == states, message="all are healthy")
    with replica_set.client(w="majority") as client:
        assert client.shop.orders.insert_one({"number": 1}).acknowledged
        status = client.admin.command("getParameter", featureCompatibilityVersion=1)
        assert status["featureCompatibilityVersion"]["version"] == VERSION.rpartition(".")[0]
