"""The room that the measurements of a whole day take, with a report of each host once a minute.

Needs a Django that is set up: see `scene`. The rows are written in the order of `measurements_write`.
"""

import json
import sys
from datetime import date

from automation.measurements.days import begin_of, days_create, partition_name
from opsapi.sql import execute, fetch_rows

_DAY = date(2098, 1, 1)
_MINUTES = 1440
_FILL = """
INSERT INTO automation_reading (source_id, report, age, reported, numbers)
SELECT host, 0, 0, %(begin)s + (%(minute)s + host / 100 * 100.0 / %(hosts)s) * interval '1 minute',
       array_fill(1.5::float8, ARRAY[%(metrics)s])
  FROM generate_series(0, %(hosts)s - 1) AS host
 ORDER BY host
"""
_SIZES = "SELECT pg_table_size(%(day)s), pg_indexes_size(%(day)s)"


def main() -> None:
    """Takes numbers of hosts and metrics. Writes to stdout, as JSON, bytes of a sample: table and index."""
    sys.stdout.write(json.dumps(day_bytes(int(sys.argv[1]), int(sys.argv[2]))))


def day_bytes(hosts: int, metrics: int) -> list[float]:
    """Fills a day that is long after today, measures it and drops it."""
    days_create([_DAY])
    for minute in range(_MINUTES):
        execute(_FILL, {"begin": begin_of(_DAY), "hosts": hosts, "metrics": metrics, "minute": minute})
    [sizes] = fetch_rows(_SIZES, {"day": partition_name(_DAY)})
    execute(f"DROP TABLE {partition_name(_DAY)}")
    return [size / (hosts * metrics * _MINUTES) for size in sizes]
