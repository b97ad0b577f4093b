"""Where the processes of a machine put what they count."""

import os
from pathlib import Path

import pytest

from opsapi.supervisor import metric_files
from opsapi.supervisor.metric_files import VARIABLE, prepare

NOBODY = 2**22 + 1
"""More than any process id."""


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is not set."""
    monkeypatch.delenv(VARIABLE, raising=False)


def test_it_is_made_in_the_data_directory_for_its_owner(tmp_path: Path) -> None:
    data_dir = tmp_path / "var"
    assert prepare(data_dir) == {VARIABLE: str(data_dir / "metrics")}
    assert (data_dir / "metrics").stat().st_mode & 0o777 == 0o700


def test_one_that_was_made_readable_is_closed(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir(mode=0o755)
    prepare(tmp_path)
    assert (tmp_path / "metrics").stat().st_mode & 0o777 == 0o700


def test_it_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "elsewhere"))
    assert prepare(tmp_path / "var") == {VARIABLE: str(tmp_path / "elsewhere")}
    assert (tmp_path / "elsewhere").is_dir()
    assert not (tmp_path / "var").exists()


def test_files_of_processes_that_ended_go_and_others_stay(tmp_path: Path) -> None:
    kept = [f"counter_{os.getpid()}.db", "counter_notes.db", "readme.txt"]
    gone = [f"counter_{NOBODY}.db", f"histogram_{NOBODY}.db"]
    directory = tmp_path / "metrics"
    directory.mkdir()
    for name in (*kept, *gone):
        (directory / name).touch()
    prepare(tmp_path)
    assert sorted(one.name for one in directory.iterdir()) == sorted(kept)


def test_the_module_that_sets_the_variable_loads_no_metrics_library() -> None:
    """The library looks at the variable once, when it is imported."""
    assert "prometheus_client" not in Path(str(metric_files.__file__)).read_text()
