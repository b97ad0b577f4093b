"""Where a run keeps its files: in memory where that is possible, otherwise with other temporary files."""

import os
import tempfile
from pathlib import Path

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


def test_each_slow_path_exists() -> None:
    assert [path for path in plugin.SLOW if not (ROOT / path).exists()] == []
