"""The files of a process on its machine."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.places import ProcessPlaces, StartRecord, only_agent
from automation.plan.values import ObservedProcess
from tests.each import each

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)


def test_only_the_user_of_the_agent_reads_a_configuration(tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, "orders_1")
    assert places.read_config() == {}
    places.write_config({"net": {"port": 27017}}, "6.0.5")
    assert places.read_config() == {"net": {"port": 27017}}
    assert places.config.stat().st_mode & 0o777 == 0o600
    assert places.config.parent.stat().st_mode & 0o777 == 0o700


@each("name", ["..", ".", "../../etc", "a/b", "x" * 300])
def test_the_files_of_every_process_are_below_the_directory(name: str, tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, name)
    places.write_config({}, "6.0.5")
    assert tmp_path / "opsapi-agent" in places.config.resolve().parents


@each("letter", ["p", "п", "東"])
def test_processes_whose_long_names_begin_alike_have_files_of_their_own(letter: str, tmp_path: Path) -> None:
    first, second = (ProcessPlaces(tmp_path, letter * 298 + end) for end in ("_1", "_2"))
    first.write_reached(7)
    assert (first.read_reached(), second.read_reached()) == (7, 0)


def test_a_damaged_configuration_is_not_known(tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, "orders_1")
    places.write_config({}, "6.0.5")
    places.config.write_text("{")
    assert places.read_config() is None


def test_a_configuration_has_the_version_for_which_it_was_written(tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, "orders_1")
    places.write_record(StartRecord("5.0.4"))
    places.config.write_text('{"net": {}}')  # An earlier agent wrote it.
    assert places.read_record().version == "5.0.4"
    places.write_config({"net": {}}, "5.0.4")
    places.write_next_config({"net": {"port": 1}}, "6.0.5\n")
    assert (places.read_record().version, places.read_config()) == ("5.0.4", {"net": {}})
    places.use_next_config()
    assert (places.read_record().version, places.read_config()) == ("6.0.5\n", {"net": {"port": 1}})
    places.note_running(ObservedProcess(version="6.0.27"), None, None)  # Somebody else has started it.
    assert (places.read_record().version, places.read_config()) == ("6.0.27", {"net": {"port": 1}})


def test_a_directory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "opsapi-agent").mkdir()
    (tmp_path / "opsapi-agent").chmod(0o777)
    with pytest.raises(MoveFailed):
        ProcessPlaces(tmp_path, "orders_1").write_config({}, "6.0.5")


def test_it_reads_how_a_process_was_started(tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, "orders_1")
    assert places.read_record() == StartRecord()
    places.write_record(StartRecord("6.0.5", NOON, was_empty=True, resync=NOON, starts=(NOON, NOON)))
    places.add_parameters(frozenset({"notablescan"}))
    expected = StartRecord(
        "6.0.5", NOON, frozenset({"notablescan"}), was_empty=True, resync=NOON, starts=(NOON, NOON)
    )
    assert places.read_record() == expected
    places.note_data()
    assert places.read_record() == replace(expected, was_empty=False)
    places.note_compacted(NOON)
    assert places.read_record() == replace(expected, was_empty=False, compacted=NOON)


@each(("hours", "away"), [(-1, timedelta()), (0.5, timedelta(minutes=30)), (30, timedelta(days=1))], ids=str)
def test_a_restart_lasts_from_its_first_stop_until_the_server_has_all_data(
    hours: float, away: timedelta, tmp_path_factory: pytest.TempPathFactory
) -> None:
    places = ProcessPlaces(tmp_path_factory.mktemp("restart"), "orders_1")
    places.note_return(NOON)
    assert places.read_record().away is None
    places.note_stop(NOON)
    places.note_stop(NOON + timedelta(minutes=9))
    assert places.read_record().away is None
    places.note_return(NOON + timedelta(hours=hours))
    places.note_return(NOON + timedelta(hours=99))
    assert places.read_record() == StartRecord(away=away)


def test_a_stop_that_is_no_restart_is_not_measured(tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, "orders_1")
    places.note_stop(NOON)
    places.note_stop(None)
    places.note_return(NOON + timedelta(hours=1))
    assert places.read_record() == StartRecord()


def test_two_agents_do_not_carry_out_plans_in_the_same_directory(tmp_path: Path) -> None:
    with only_agent(tmp_path) as is_first_alone, only_agent(tmp_path) as is_second_alone:
        assert (is_first_alone, is_second_alone) == (True, False)
    with only_agent(tmp_path) as is_alone:
        assert is_alone


def test_the_version_of_a_server_that_the_agent_found_running_is_kept(tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, "orders_1")
    places.add_parameters(frozenset({"notablescan"}))
    places.note_running(ObservedProcess(version="6.0.5"), None, None)
    assert places.read_record() == StartRecord("6.0.5", parameters=frozenset({"notablescan"}))
