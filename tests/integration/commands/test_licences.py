"""`manage.py licences`: the requirements that are shipped have licences that allow it."""

from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from tests.each import each
from tools.management.commands.licences import licences_of


def test_the_pinned_requirements_have_allowed_licences(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("licences")
    assert "allowed" in capsys.readouterr().out


@each(
    ("pinned", "fault"),
    [
        ("django==1.0", "1.0 is pinned"),
        (f"hypothesis=={metadata.version('hypothesis')}", "hypothesis: the licence MPL-2.0"),
    ],
)
def test_it_refuses_another_version_and_another_licence(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: str, fault: str
) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "requirements.txt").write_text(f"{pinned} \\\n    --hash=sha256:0\n")
    monkeypatch.setattr("tools.management.commands.licences.ALLOWED", frozenset({"BSD-3-Clause"}))
    with pytest.raises(CommandError) as refusal:
        call_command("licences")
    assert fault in str(refusal.value)


@each(
    ("headers", "licences"),
    [
        ({"License-Expression": "MPL-2.0 AND (Apache-2.0 OR MIT)"}, ["MPL-2.0", "Apache-2.0", "MIT"]),
        ({"Classifier": "License :: OSI Approved :: MIT License", "License": "see file"}, ["MIT License"]),
        ({"License": "BSD 3-Clause OR Apache-2.0"}, ["BSD 3-Clause", "Apache-2.0"]),
        ({}, []),
    ],
)
def test_it_reads_each_way_to_name_a_licence(headers: dict[str, str], licences: list[str]) -> None:
    package: Any = Message()
    for name, value in headers.items():
        package[name] = value
    assert licences_of(package) == licences
