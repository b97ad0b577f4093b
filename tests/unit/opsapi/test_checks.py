"""The check of the environment in which the platform is installed."""

from pathlib import Path

import pytest

from opsapi.apps import packages_are_its_own


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
