"""Where a run keeps its files: in memory where that is possible, otherwise with other temporary files."""

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests import plugin
from tests.documents import ROOT
from tests.shared import run_directory


def test_temporary_files_of_all_processes_go_with_the_run() -> None:
    assert Path(tempfile.gettempdir()) == Path(os.environ["TMPDIR"]) == run_directory() / "tmp"


def test_a_machine_without_enough_memory_keeps_the_files_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "MEMORY_BYTES", 1 << 60)
    assert not plugin.has_memory()


def test_a_machine_without_a_directory_in_memory_keeps_the_files_on_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plugin, "MEMORY", tmp_path / "missing")
    assert not plugin.has_memory()


def test_only_files_with_tests_to_run_are_imported() -> None:
    slow, marked, other = (
        ROOT / "tests" / name
        for name in (
            "browser/test_pages.py",
            "integration/alerting/test_dear_projects.py",
            "unit/opsapi/test_clock.py",
        )
    )
    assert [left_out(path, plugin.SLOW_TESTS) for path in (slow, marked, other)] == [None, None, True]
    assert [left_out(path, plugin.NOT_SLOW_TESTS) for path in (slow, marked, other)] == [True, None, None]
    assert [left_out(path, "") for path in (slow, marked, other)] == [None, None, None]


def left_out(path: Path, marks: str) -> bool | None:
    """Whether a file is left out of a run of these marks."""
    config = SimpleNamespace(option=SimpleNamespace(markexpr=marks))
    return plugin.pytest_ignore_collect(path, cast(pytest.Config, config))


def test_each_slow_path_exists() -> None:
    assert [path for path in plugin.SLOW if not (ROOT / path).exists()] == []


def test_tests_that_share_a_platform_run_in_one_process() -> None:
    config = SimpleNamespace(option=SimpleNamespace(dist="loadfile"), getvalue=lambda _: "2*popen")
    scheduling = plugin.pytest_xdist_make_scheduler(cast(pytest.Config, config), None)
    assert scheduling is not None
    files = ("running/test_web.py", "running/test_workers.py", "test_tls.py")
    scopes = [scheduling._split_scope(f"tests/processes/{name}::test_it") for name in files]
    assert scopes == [plugin.TOGETHER, plugin.TOGETHER, "tests/processes/test_tls.py"]
    config.option.dist = "load"
    assert plugin.pytest_xdist_make_scheduler(cast(pytest.Config, config), None) is None
