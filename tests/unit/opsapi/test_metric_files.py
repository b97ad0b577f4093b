"""Where the processes of a machine put what they count."""

import os
from pathlib import Path

import pytest

from opsapi import metric_files
from opsapi.metric_files import VARIABLE, prepare, remove

NOBODY = 2**22 + 1
"""More than any process id."""


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the machine's shared memory; the variable is not set."""
    made: Path = tmp_path_factory.mktemp("shm")
    monkeypatch.setattr(metric_files, "SHARED_MEMORY", made)
    monkeypatch.delenv(VARIABLE, raising=False)
    return made


@pytest.fixture
def no_memory(memory: Path) -> None:
    """The machine has none."""
    memory.rmdir()


def test_the_directory_is_created_in_memory_for_its_owner(memory: Path, tmp_path: Path) -> None:
    directory = Path(prepare(tmp_path / "var")[VARIABLE])
    assert directory.parent == memory
    assert directory.stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "var").exists()


def test_each_installation_has_its_own_and_finds_it_again(tmp_path: Path) -> None:
    first, second, again = (prepare(tmp_path / name)[VARIABLE] for name in ("one", "two", "one"))
    assert first == again != second


@pytest.mark.parametrize("taken", ["readable", "a link", "a file"])
def test_a_directory_that_others_can_read_or_own_is_not_used(tmp_path: Path, taken: str) -> None:
    place = metric_files.memory_dir(tmp_path)
    if taken == "readable":
        place.mkdir(mode=0o755)
    elif taken == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.touch()
    assert prepare(tmp_path) == {VARIABLE: str(tmp_path / "metrics")}
    remove(tmp_path)
    assert place.is_symlink() or place.exists()


def test_it_leaves_the_memory_with_the_last_process(tmp_path: Path) -> None:
    directory = Path(prepare(tmp_path)[VARIABLE])
    (directory / f"counter_{os.getpid()}.db").touch()
    remove(tmp_path)
    assert not directory.exists()


@pytest.mark.usefixtures("no_memory")
def test_without_shared_memory_it_is_created_in_the_data_directory(tmp_path: Path) -> None:
    data_dir = tmp_path / "var"
    assert prepare(data_dir) == {VARIABLE: str(data_dir / "metrics")}
    assert (data_dir / "metrics").stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("no_memory")
def test_a_readable_directory_is_closed(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir(mode=0o755)
    prepare(tmp_path)
    assert (tmp_path / "metrics").stat().st_mode & 0o777 == 0o700


def test_the_environment_can_name_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv(VARIABLE, str(elsewhere))
    assert prepare(tmp_path / "var") == {VARIABLE: str(elsewhere)}
    assert elsewhere.stat().st_mode & 0o777 == 0o700
    remove(tmp_path / "var")
    assert elsewhere.is_dir()
    assert not (tmp_path / "var").exists()


def test_files_of_processes_that_ended_go_and_others_stay(tmp_path: Path) -> None:
    kept = [f"counter_{os.getpid()}.db", "counter_notes.db", "readme.txt"]
    gone = [f"counter_{NOBODY}.db", f"histogram_{NOBODY}.db"]
    directory = Path(prepare(tmp_path)[VARIABLE])
    for name in (*kept, *gone):
        (directory / name).touch()
    prepare(tmp_path)
    assert sorted(file.name for file in directory.iterdir()) == sorted(kept)


def test_the_module_that_sets_the_variable_loads_no_metrics_library() -> None:
    """The library looks at the variable once, when it is imported."""
    assert "prometheus_client" not in Path(str(metric_files.__file__)).read_text()
