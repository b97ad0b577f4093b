"""Names of clusters that Python and PostgreSQL do not lower alike."""

import pytest

from accesslist.models import Project
from automation.models import Cluster, Host
from tests.each import each
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db


@each("name", ["\u0391\u03a3", "\u0130", "\u1e9e", "\u2126", "PLAIN"], ids=ascii)
def test_a_report_is_taken_whatever_letters_a_cluster_has(project: Project, name: str) -> None:
    for spelling in (name, name, name.lower()):
        ingest(project, host_report("db1", cluster_name=spelling))
        assert Host.objects.get().cluster is not None
    assert Cluster.objects.filter(name=name).count() == 1


def test_two_spellings_in_one_report_are_one_cluster(project: Project) -> None:
    ingest(project, host_report("db1", cluster_name="Orders"), host_report("db2", cluster_name="ORDERS"))
    assert Cluster.objects.count() == 1
    assert Host.objects.filter(cluster=Cluster.objects.get()).count() == 2
