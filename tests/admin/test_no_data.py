"""No false green: what nothing has been heard of for too long is shown without data."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from automation.choices import HostType
from automation.models import Cluster, Host, ReplicaSet
from tests.admin.operators import page_of
from tests.admin.reading import shown
from tests.admin.times import NOON
from tests.factories.automation import host_report, ingest, make_host

pytestmark = pytest.mark.django_db

HOSTS, SETS = "/admin/automation/host/", "/admin/automation/replicaset/"
CLUSTERS = "/admin/automation/cluster/"
SECOND = timedelta(seconds=1)
FOUR_MINUTES = timedelta(minutes=4)
GREY = "bg-base-500/8"


def labels(page: str) -> dict[str, str]:
    """The words of a page's labels, with the classes that colour them."""
    found = re.findall(r'<span class="(inline-block font-semibold[^"]*)"[^>]*>(.*?)</span>', page, re.DOTALL)
    return {words.strip(): classes for classes, words in found}


@pytest.fixture
def replica_set(project: Project) -> ReplicaSet:
    """Of three members, reported at noon."""
    kinds = (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.REPLICA_SECONDARY)
    reports = [
        host_report(f"db{at}", type_name=kind, replica_set_name="rs0", cluster_name="orders", CONNECTIONS=7.0)
        for at, kind in enumerate(kinds)
    ]
    ingest(project, *reports, now=NOON)
    return ReplicaSet.objects.get()


@pytest.mark.parametrize(
    ("passed", "word"),
    [
        (timedelta(), "up"),
        (FOUR_MINUTES - SECOND, "up"),
        (FOUR_MINUTES, "no data · 4 min"),
        (timedelta(minutes=28), "no data · 28 min"),
        (timedelta(hours=5, minutes=2), "no data · 5 h 2 min"),
    ],
    ids=str,
)
def test_a_host_is_up_only_while_its_report_counts(
    noon: time_machine.Traveller, passed: timedelta, word: str, console: Client, replica_set: ReplicaSet
) -> None:
    noon.move_to(NOON + passed)
    for url in (HOSTS, page_of(Host.objects.first())):
        found = labels(shown(console, url))
        assert word in found
        assert (GREY in found[word]) is (word != "up")
        assert ("up" in found) is (word == "up")
    assert shown(console, page_of(replica_set)).count(word) >= 3


def test_what_was_down_stays_down(noon: time_machine.Traveller, console: Client, project: Project) -> None:
    ingest(project, host_report("db1", reachable=False), now=NOON)
    noon.move_to(NOON + timedelta(hours=1))
    assert labels(shown(console, HOSTS)).keys() == {"down"}


@pytest.mark.slow
def test_a_replica_set_and_a_cluster_say_how_many_members_are_unknown(
    noon: time_machine.Traveller, console: Client, replica_set: ReplicaSet
) -> None:
    cluster = Cluster.objects.get()
    pages = (SETS, page_of(replica_set)), (CLUSTERS, page_of(cluster))
    words = []
    for minutes, heard in ((0, 0), (10, 1), (10, 0)):
        noon.move_to(NOON + timedelta(minutes=minutes))
        Host.objects.update(last_report=NOON)
        Host.objects.filter(hostname="db0").update(last_report=NOON + timedelta(minutes=minutes * heard))
        words.append([[set(labels(shown(console, url))) for url in urls] for urls in pages])
    in_list_and_on_page = [[next(iter(of_list & of_page)) for of_list, of_page in word] for word in words]
    assert in_list_and_on_page == [
        ["healthy", "up"],
        ["2 unknown", "2 unknown"],
        ["no data · 10 min", "no data · 10 min"],
    ]


def test_members_that_are_unknown_are_not_counted_healthy(
    noon: time_machine.Traveller, console: Client, replica_set: ReplicaSet
) -> None:
    noon.move_to(NOON + timedelta(minutes=10))
    Host.objects.filter(hostname="db0").update(last_report=NOON + timedelta(minutes=10))
    page = shown(console, SETS)
    cells = dict(re.findall(r'data-label="(\w+)"[^>]*>\s*(\d+)\s*<', page))
    assert cells == {"primaries": "1", "healthy": "1", "unhealthy": "0", "unknown": "2"}


def test_a_member_whose_role_was_not_observed_is_counted_as_unknown(
    noon: time_machine.Traveller, console: Client, project: Project, replica_set: ReplicaSet
) -> None:
    ingest(project, host_report("db1", type_name=HostType.NO_DATA, problem="refused"), now=NOON)
    assert "members not measured" in labels(shown(console, SETS))
    ingest(project, host_report("db0", type_name=HostType.NO_DATA, problem="refused"), now=NOON)
    page = shown(console, SETS)
    cells = dict(re.findall(r'data-label="(\w+)"[^>]*>\s*(\d+)\s*<', page))
    assert cells == {"primaries": "0", "healthy": "1", "unhealthy": "0", "unknown": "2"}
    assert "primary unknown" in labels(page)


def test_what_is_bad_is_not_hidden(
    noon: time_machine.Traveller, console: Client, replica_set: ReplicaSet
) -> None:
    ReplicaSet.objects.update(primaries=0)
    noon.move_to(NOON + timedelta(minutes=10))
    assert labels(shown(console, SETS)).keys() == {"no primary"}


def test_numbers_have_their_time_and_are_grey_when_they_are_old(
    noon: time_machine.Traveller, console: Client, replica_set: ReplicaSet
) -> None:
    page = page_of(Host.objects.first())
    assert "fleet-old" not in shown(console, page)
    noon.move_to(NOON + timedelta(minutes=28))
    text = shown(console, page)
    assert "fleet-old" in text
    assert f'datetime="{NOON:%Y-%m-%dT%H:%M:%S}+00:00"' in text
    assert "28 min ago" in text


@pytest.mark.parametrize(("chosen", "found"), [("none", {"old", "new"}), ("current", {"up", "down"})])
def test_hosts_are_found_by_whether_there_is_data(
    noon: time_machine.Traveller, chosen: str, found: set[str], console: Client, project: Project
) -> None:
    ingest(project, host_report("old"), now=NOON - FOUR_MINUTES)
    ingest(project, host_report("up"), host_report("down", reachable=False), now=NOON)
    Host.objects.filter(hostname="down").update(last_report=NOON - FOUR_MINUTES)
    make_host(project, "new")
    page = shown(console, f"{HOSTS}?data={chosen}")
    assert {name for name in ("old", "new", "up", "down") if f"{name}:27017" in page} == found


@pytest.mark.slow
def test_lists_take_as_many_statements_however_long_they_are(console: Client, project: Project) -> None:
    costs: dict[str, list[int]] = {HOSTS: [], SETS: [], CLUSTERS: []}
    for more in (1, 20):
        for number in range(more):
            name = f"s{more}-{number}"
            ingest(project, host_report(name, replica_set_name=name, cluster_name=name))
        for url, numbers in costs.items():
            console.get(url)
            with CaptureQueriesContext(connection) as statements:
                console.get(url)
            numbers.append(len(statements))
    assert all(few == many for few, many in costs.values())
