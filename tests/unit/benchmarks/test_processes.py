"""What is read of processes."""

from tests.benchmarks.memory import field, kind_of
from tests.benchmarks.process_times import ticks
from tests.each import each

STAT = "17 (a (b) c) S 1 17 17 0 -1 4194560 1 2 3 4 120 30 5 6 20 0 1 0 99 1000 200"


@each(("stat", "expected"), [(STAT, 150), ("", 0)])
def test_ticks_are_user_and_system_time(stat: str, expected: int) -> None:
    assert ticks(stat) == expected


@each(
    ("command", "expected"),
    [
        ("/usr/bin/python -m gunicorn --config python:opsapi.gunicorn_conf", "web"),
        ("/opt/bin/postgres -D /data/postgres/data", "PostgreSQL"),
        ("postgres: opsapi opsapi [local] idle", "PostgreSQL"),
        ("/usr/bin/python manage.py run_worker", "worker"),
        ("/usr/bin/python manage.py serve", "supervisor"),
        ("", "supervisor"),
    ],
)
def test_a_process_is_known_by_its_command(command: str, expected: str) -> None:
    assert kind_of(command) == expected


@each(
    ("text", "expected"),
    [("Rss: 12 kB\nPss:   7 kB\nPss_Dirty: 3 kB\n", 7), ("Rss: 12 kB\n", 0), ("", 0)],
)
def test_a_field_is_read_by_its_whole_name(text: str, expected: int) -> None:
    assert field(text, "Pss") == expected
