"""The limits of the fleet: writing the rows of reports, and deleting signals without evaluating them."""

import itertools
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import psycopg

from opsapi.embedded.layout import Layout

_SECONDS = 2.0
_CREATE = """
CREATE TABLE IF NOT EXISTS benchmark_host (id int PRIMARY KEY, last_report timestamptz, uptime bigint);
CREATE TABLE IF NOT EXISTS benchmark_measurement
    (id bigserial PRIMARY KEY, host int, at timestamptz, metrics jsonb);
CREATE TABLE IF NOT EXISTS benchmark_signal (id bigserial PRIMARY KEY, payload jsonb);
CREATE TABLE IF NOT EXISTS benchmark_reading (host int, at timestamptz, numbers float8[]);
INSERT INTO benchmark_host SELECT generate_series(0, 999) ON CONFLICT DO NOTHING;
"""
_UPDATE_HOST = "UPDATE benchmark_host SET last_report = now(), uptime = %s WHERE id = %s"
_INSERT_MEASUREMENT = "INSERT INTO benchmark_measurement (host, at, metrics) VALUES (%s, now(), %s)"
_INSERT_SIGNAL = "INSERT INTO benchmark_signal (payload) VALUES (%s)"
_TAKE = """
DELETE FROM benchmark_signal WHERE id = (SELECT min(id) FROM benchmark_signal) RETURNING payload
"""
_COPY = "COPY benchmark_reading FROM STDIN"
_ROWS_OF_A_COPY = 100
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)
  FROM pg_inherits WHERE inhparent = 'automation_reading'::regclass
"""
_OLDEST = "SELECT coalesce(extract(epoch FROM now() - min(created)), 0) FROM events_signal"
_WAITING = "SELECT count(*) FROM events_signal WHERE group_id = %s"


class BareRows:
    """A connection of its own to the platform's database."""

    def __init__(self, data_dir: Path) -> None:
        database = Layout(data_dir).django_database()
        self._connection = psycopg.connect(
            dbname=str(database["NAME"]),
            user=str(database["USER"]),
            host=str(database["HOST"]),
            port=int(database["PORT"]),
            autocommit=True,
        )
        self._connection.execute(_CREATE)

    def waiting(self, group_id: str) -> int:
        """How many signals of a project wait to be evaluated."""
        row: Any = self._connection.execute(_WAITING, [group_id]).fetchone()
        return int(row[0])

    def oldest_signal_seconds(self) -> float:
        """Age of the oldest signal that waits to be evaluated; 0 without any."""
        row: Any = self._connection.execute(_OLDEST).fetchone()
        return float(row[0])

    def written_per_second(self, metrics: Sequence[str]) -> float:
        """Hosts a second whose state, measurements and signal are written, a transaction each."""
        measured = orjson.dumps({name: [["2026-01-01T00:00:00Z", 1.5]] for name in metrics}).decode()
        payload = orjson.dumps({"hosts": [{"hostname": "db1.example.com", "port": 27017}]}).decode()
        numbers = itertools.cycle(range(1000))

        def write() -> None:
            number = next(numbers)
            with self._connection.transaction():
                self._connection.execute(_UPDATE_HOST, [number, number])
                self._connection.execute(_INSERT_MEASUREMENT, [number, measured])
                self._connection.execute(_INSERT_SIGNAL, [payload])

        return _per_second(write)

    def taken_per_second(self) -> float:
        """Signals deleted per second, each in its own transaction. Write enough signals first."""
        return _per_second(lambda: self._connection.execute(_TAKE).fetchone())

    def readings_size(self) -> int:
        """Bytes on disk of all that was measured, with indexes."""
        row: Any = self._connection.execute(_SIZE).fetchone()
        return int(row[0])

    def samples_copied_per_second(self, metrics: int) -> float:
        """Samples in a second of PostgreSQL's and the client's processor, a hundred rows in a transaction."""
        numbers = "{" + ",".join(repr(random.random()) for _ in range(metrics)) + "}"
        rows = "".join(f"{host}\t2026-01-01T00:00:00Z\t{numbers}\n" for host in range(_ROWS_OF_A_COPY))

        def copy() -> None:
            with self._connection.cursor() as cursor, cursor.copy(_COPY) as target:
                target.write(rows)

        return _per_second(copy) * _ROWS_OF_A_COPY * metrics

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _per_second(step: Callable[[], object]) -> float:
    done, begin = 0, time.monotonic()
    while time.monotonic() < begin + _SECONDS:
        step()
        done += 1
    return done / (time.monotonic() - begin)
