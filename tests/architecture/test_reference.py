"""docs/reference is current, and every setting that pages, code and texts name exists."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from prometheus_client.metrics_core import Metric

from automation.agent.settings import NAMES
from opsapi.apps import metrics
from opsapi.environment import READ
from opsapi.metric_series import COUNTED, DECLARED, SeriesType
from tests.client import ApiClient
from tools.management.commands.reference import entries

ROOT: Path = settings.BASE_DIR
PACKAGES = ("opsapi", "events", "accesslist", "automation", "integrations", "alerting")
HANDED_ON = {"OPSAPI_LISTENER_FD", "OPSAPI_READY_FD"}
"""Variables that `manage.py serve` passes to its own processes."""
OF_TESTS = re.compile(r"OPSAPI_TEST_\w+")
MENTIONED = re.compile(r"OPSAPI_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_])")
DERIVED = {"OPSAPI_VERSION", "OPSAPI_EMBEDDED_DATABASE", "OPSAPI_ENCRYPTION_KEY_FILE"}


def named(paths: Iterable[Path], pattern: re.Pattern[str]) -> set[str]:
    """The settings that the files name."""
    return {name for path in paths for name in pattern.findall(path.read_text())}


@pytest.mark.slow
def test_the_pages_are_current() -> None:
    call_command("reference", "--check")


def test_the_code_and_its_texts_name_only_settings_that_are_documented() -> None:
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    sources += (ROOT / "templates").rglob("*.html")
    assert named(sources, MENTIONED) - HANDED_ON - DERIVED - NAMES <= READ.keys()


def test_the_documents_name_only_settings_that_are_read() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = named(pages, re.compile(r"`(OPSAPI_[A-Z0-9_]+)(?:=[^`]*)?`"))
    assert {name for name in found if not OF_TESTS.fullmatch(name)} <= READ.keys() | NAMES


def test_the_defaults_in_the_example_are_the_real_defaults() -> None:
    written = {
        name: default
        for entry in entries((ROOT / ".env.example").read_text())
        for name, default in entry.defaults.items()
    }
    assert {name: in_any_order(default) for name, default in written.items()} == {
        name: in_any_order(setting.default) for name, setting in READ.items()
    }


def in_any_order(default: str) -> list[str]:
    """Lists are compared without their order."""
    return sorted(default.split(","))


@pytest.mark.django_db
def test_what_is_scraped_is_declared(owner: ApiClient) -> None:
    owner.get("/groups")
    asked = [metric for collect in metrics() for metric in collect()]
    assert {described(metric) for metric in (*asked, *COUNTED.collect())} | {"opsapi_database_up gauge"} == {
        f"{each.name} {each.type}" for each in DECLARED.values()
    }
    for metric in asked:
        labels = {frozenset(sample.labels) for sample in metric.samples}
        assert labels <= {frozenset(DECLARED[metric.name].labels)}
        assert metric.documentation == DECLARED[metric.name].help


def described(metric: Metric) -> str:
    """Name as it is scraped, and type."""
    name = f"{metric.name}_total" if metric.type == SeriesType.COUNTER else metric.name
    return f"{name} {metric.type}"
