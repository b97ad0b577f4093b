"""The age of backups by the markers that backup jobs write."""

import os
import threading
from pathlib import Path

import pytest

from automation.agent.backups import METRIC, UNKNOWN, BackupMarkers
from automation.agent.engine import HostReading, ServerAddress
from automation.agent.rates import Why
from automation.metrics import Metric
from tests.each import each

SERVER = ServerAddress("db1.example.com", 5432)
OTHER = ServerAddress("db2.example.com", 5432)
NOW = 1_764_320_400.0
HOUR = 3600.0


def marker(directory: Path, written: float = NOW - 30 * HOUR) -> Path:
    """A marker that was written then."""
    path = directory / "marker"
    path.touch()
    os.utime(path, (written, written))
    return path


def reading(
    address: ServerAddress = SERVER, *, reachable: bool = True, problem: str | None = None
) -> HostReading:
    """The result of a poll."""
    return HostReading(address, "STANDALONE", reachable=reachable, problem=problem)


def age_in(markers: BackupMarkers) -> float | None:
    """The reported age of the server's backup, in hours; None if the age is reported as unknown."""
    (found,) = markers.added([reading()])
    values = {sample.metric: sample.number for sample in found.samples}
    age = values.get(Metric.BACKUP_AGE.value)
    assert values == ({UNKNOWN: 1} if age is None else {METRIC: age, UNKNOWN: 0})
    assert UNKNOWN == Metric.BACKUP_UNKNOWN
    return age


def test_the_age_of_a_backup_is_the_age_of_its_marker(tmp_path: Path) -> None:
    markers = BackupMarkers({SERVER: marker(tmp_path)}, lambda: NOW)
    assert age_in(markers) == 30
    marker(tmp_path, NOW)
    assert age_in(markers) == 0


def test_other_servers_and_servers_that_are_not_measured_have_no_age(tmp_path: Path) -> None:
    given = [reading(OTHER), reading(reachable=False), reading(problem="refused")]
    assert BackupMarkers({SERVER: marker(tmp_path)}, lambda: NOW).added(given) == given
    assert BackupMarkers({}).added(given) is given


@each("fault", ["missing", "directory", "future", "hidden"])
def test_without_a_marker_that_proves_a_backup_its_age_is_unknown(
    tmp_path_factory: pytest.TempPathFactory, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path_factory.mktemp("markers")
    path = directory / "marker"
    if fault == "directory":
        path.mkdir()
    elif fault == "future":
        marker(directory, NOW + 2 * HOUR)
    elif fault == "hidden":
        path = marker(directory) / "below"
    markers = BackupMarkers({SERVER: path}, lambda: NOW)
    assert not markers.why_missing()
    for _ in range(2):
        assert age_in(markers) is None
    assert markers.why_missing() == {SERVER: {METRIC: Why.FAILED, UNKNOWN: Why.REPORTED}}
    assert len([line for line in caplog.messages if str(path) in line]) == 1
    (step,) = markers.steps()
    assert step.fault
    caplog.clear()


def test_a_marker_that_is_removed_while_a_backup_runs_keeps_its_age(tmp_path: Path) -> None:
    path = marker(tmp_path)
    markers = BackupMarkers({SERVER: path}, lambda: NOW)
    assert age_in(markers) == 30
    path.unlink()
    assert age_in(markers) == 30
    assert markers.why_missing() == {SERVER: {METRIC: Why.REPORTED, UNKNOWN: Why.REPORTED}}


def test_the_age_is_unknown_while_the_marker_is_hidden_and_known_again_afterwards(tmp_path: Path) -> None:
    path = marker(tmp_path)
    markers = BackupMarkers({SERVER: path}, lambda: NOW)
    assert age_in(markers) == 30
    path.unlink()
    path.mkdir()
    assert age_in(markers) is None
    path.rmdir()
    assert age_in(markers) is None
    marker(tmp_path, NOW - HOUR)
    assert age_in(markers) == 1


def test_a_file_system_that_hangs_holds_up_no_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, freed = marker(tmp_path), threading.Event()
    monkeypatch.setattr(Path, "stat", lambda *_, **__: freed.wait())
    markers = BackupMarkers({SERVER: path}, lambda: NOW, longest=0.01)
    try:
        assert age_in(markers) is None
    finally:
        freed.set()


def test_a_server_that_is_not_reported_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    markers = BackupMarkers({OTHER: marker(tmp_path)}, lambda: NOW)
    for _ in range(2):
        markers.added([reading()])
    assert len([line for line in caplog.messages if str(OTHER) in line]) == 1


def test_check_shows_the_age_of_each_marker(tmp_path: Path) -> None:
    (step,) = BackupMarkers({SERVER: marker(tmp_path)}, lambda: NOW).steps()
    assert not step.fault
    assert "30.0 hours" in step.tried
