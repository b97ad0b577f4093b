"""An agent is added, and its page waits for the first report."""

import re

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import ApiKey, Project
from automation.models import Agent, Host
from opsapi.console.admin_urls import page_url
from tests.api.bodies import host, report
from tests.browser.accessibility import fits_its_window, no_serious_faults
from tests.browser.people import START
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.client import ApiClient
from tests.factories.accesslist import KeyPair

pytestmark = pytest.mark.chromium


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_an_agent_is_added_and_what_it_found_appears(look: Viewport, console: Page, project: Project) -> None:
    console.goto(f"{START}automation/agent/")
    console.get_by_role("link", name="Add agent").first.click()
    console.get_by_label("MongoDB").uncheck()
    expect(console.get_by_role("textbox", name="Host", exact=True)).to_have_count(0)
    console.get_by_label("PostgreSQL").check()
    servers = console.get_by_role("group", name="PostgreSQL")
    expect(servers.get_by_label("Port")).to_have_value("5432")
    servers.get_by_label("Host").fill("db1, db2")
    console.get_by_label("MongoDB").check()
    expect(console.get_by_role("group", name="MongoDB").get_by_label("Port")).to_have_value("27017")
    console.get_by_label("Description").fill("on db1")
    expect(console.get_by_role("combobox", name="Project")).to_contain_text(project.name)
    no_serious_faults(console)
    fits_its_window(console)
    console.get_by_label("Create alert configurations").uncheck()
    expect(console.get_by_role("checkbox", name="Host down")).to_be_hidden()
    console.get_by_role("button", name="Create key").click()
    settings = console.get_by_role("group", name="the settings", exact=True).inner_text()
    assert ":PASSWORD@db1:5432,db2:5432/" in settings
    for engine in ("MongoDB", "PostgreSQL"):
        expect(console.get_by_role("button", name=f"Copy: write the password of {engine}")).to_be_visible()
    expect(console.get_by_text("Waiting for the first report")).to_be_visible()
    no_serious_faults(console)
    fits_its_window(console)

    private = dict(re.findall(r'(\w+)="(.*)"', settings))["OPSAPI_AGENT_PRIVATE_KEY"]
    key = ApiKey.objects.get()
    sent = report(host(hostname="db1"), host(hostname="db2", reachable=False), hostname="agent1")
    assert ApiClient(KeyPair(key.id, key.public_key, private)).report(project.id, sent).status_code == 202
    expect(console.get_by_role("link", name="db2")).to_be_visible()
    expect(console.get_by_role("link", name="Check again")).to_have_count(0)
    no_serious_faults(console)
    fits_its_window(console)
    console.get_by_role("link", name="db1").click()
    expect(console).to_have_url(page_url(Host.objects.get(hostname="db1")))


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_what_an_agent_watches_and_cannot_report_can_be_read(
    look: Viewport, console: Page, agent: ApiClient, project: Project
) -> None:
    longest = f"db1.{'a-long-label-of-a-name.' * 8}example.com"
    asked = [{"hostname": longest, "port": 5432, "metricSet": 0}, {"hostname": "db2", "port": 5432}]
    sets = [
        {"refused": ["DISK_PARTITION_SPACE_PERCENT_USED", "CONNECTIONS"], "role": "pg_monitor"}
        | {"absent": ["PG_REPLICATION_SLOT_RETAINED_BYTES"]}
    ]
    leases = {"intervalSeconds": 60, "hosts": asked, "metricSets": sets}
    why = f"version 2.0 is not used: the agent's user cannot write the directory /{'a-long-name-' * 30}"
    sent = report(host(hostname="db2", port=5432), hostname="agent1", leases=leases, updateProblem=why)
    assert agent.report(project.id, sent).status_code == 202
    console.goto(page_url(Agent.objects.get()))
    expect(console.get_by_role("definition").filter(has_text="cannot write")).to_be_visible()
    watched = console.get_by_role("region", name="Watched hosts")
    expect(watched.get_by_role("row")).to_have_count(3)
    missing = console.get_by_role("region", name="Missing metrics")
    expect(missing.get_by_text("refused: needs pg_monitor").first).to_be_visible()
    expect(missing.get_by_role("row")).to_have_count(4)
    no_serious_faults(console)
    fits_its_window(console)
    watched.get_by_role("link", name="db2").click()
    expect(console).to_have_url(page_url(Host.objects.get(hostname="db2")))
