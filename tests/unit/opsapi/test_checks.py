"""The checks of the environment and of settings that make no sense together."""

from pathlib import Path

import pytest
from django.core.checks import registry
from django.core.management import CommandError, call_command
from pytest_django import Settings

from opsapi.apps import (
    INSTALLATION,
    links_can_be_followed,
    packages_are_its_own,
    the_proxy_in_front_is_trusted,
)
from opsapi.own_url import own_url
from opsapi.program import machine_name


def test_every_check_of_ours_runs_with_the_checks_of_an_installation() -> None:
    ours = ("opsapi.apps", "accesslist.", "alerting.", "automation.", "events.", "integrations.")
    checks = [check for check in registry.registry.get_checks() if check.__module__.startswith(ours)]
    assert checks
    assert [check for check in checks if INSTALLATION not in check.tags] == []


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["prepare", "run_worker", "create_key"])
def test_a_command_refuses_settings_that_make_no_sense_together(settings: Settings, command: str) -> None:
    settings.OPSAPI_SMS_ACCOUNT = "set"
    with pytest.raises(CommandError, match="OPSAPI_SMS_TOKEN"):
        call_command(command, skip_checks=False)


def test_another_distribution_with_a_package_of_the_same_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert packages_are_its_own() == []
    metadata = tmp_path / "other-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (metadata / "top_level.txt").write_text("events\n")
    monkeypatch.syspath_prepend(tmp_path)
    (error,) = packages_are_its_own()
    assert error.id == "opsapi.E003"
    assert {"events", "other"} <= set(error.msg.split())


@pytest.mark.parametrize(
    ("url", "certificate", "proxies", "warned"),
    [
        ("https://ops.example.com", "", [], True),
        ("https://ops.example.com", "", ["127.0.0.1/32"], False),
        ("https://ops.example.com", "tls.pem", [], False),
        ("http://ops.example.com", "", [], False),
        ("", "", [], False),
    ],
)
def test_a_proxy_that_is_not_trusted_is_a_warning(
    settings: Settings, url: str, certificate: str, proxies: list[str], warned: bool
) -> None:
    settings.OPSAPI_PUBLIC_URL, settings.OPSAPI_TLS_CERT = url, certificate
    settings.OPSAPI_TRUSTED_PROXIES = proxies
    assert [warning.id for warning in the_proxy_in_front_is_trusted()] == ["opsapi.W002"] * warned


@pytest.mark.parametrize(
    ("bound", "url", "warned"),
    [
        ("127.0.0.1", "", False),
        ("192.0.2.7", "", False),
        ("ops.example.com", "", False),
        ("0.0.0.0", "", True),
        ("::", "", True),
        ("0.0.0.0", "https://ops.example.com", False),
    ],
)
def test_links_that_begin_with_the_name_of_the_machine_are_a_warning(
    settings: Settings, bound: str, url: str, warned: bool
) -> None:
    settings.OPSAPI_BIND, settings.OPSAPI_PUBLIC_URL = (bound, 8000), url
    assert [warning.id for warning in links_can_be_followed()] == ["opsapi.W004"] * warned
    host = machine_name() if bound in {"0.0.0.0", "::"} else bound
    assert own_url() == f"http://{host}:8000"
