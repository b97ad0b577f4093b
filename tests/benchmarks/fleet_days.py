"""A month of packed measurements of 50 hosts, and their rollups. Needs a Django that is set up."""

import json
import sys
import time
from collections.abc import Iterator
from datetime import datetime

import numpy as np
from django.conf import settings

from automation.measurements.blocks import BLOCKS, PACKINGS, microseconds
from automation.measurements.days import DAY, begin_of
from automation.measurements.packing import Column, Times, packed
from automation.measurements.rollups import ROLLUP_BLOCKS, rollups_compute_some
from automation.measurements.rules import NUMBERS
from automation.metrics import Metric
from automation.models import Host, Source
from opsapi import clock
from opsapi.sql import execute, fetch_rows
from tests.benchmarks.measured_day import METRICS, MINUTES, measured_day

HOSTS = 50
DAYS = 32
_WRITE = f"""
INSERT INTO {BLOCKS} (source_id, day, number, rows, metrics, ends, block) VALUES (%s, %s, 1, %s, %s, %s, %s)
"""  # noqa: S608 - contains only our own names
_SHOW = f"INSERT INTO {PACKINGS} (day, number) VALUES (%s, 1)"  # noqa: S608 - our own name
_SIZE = "SELECT pg_total_relation_size(%s::regclass)"


def main() -> None:
    """Takes a project. Writes to stdout, as JSON, ids of hosts, and bytes and seconds of rollups."""
    hosts = _filled(sys.argv[1])
    sizes, seconds = {}, {}
    settings.OPSAPI_MEASUREMENT_PT1H_DAYS, hours = 0, settings.OPSAPI_MEASUREMENT_PT1H_DAYS
    before = _size()
    for tier in ("PT5M", "PT1H"):
        begin = time.process_time()
        while rollups_compute_some(now=clock.now()):
            """Step after step."""
        seconds[tier] = (time.process_time() - begin) / DAYS / HOSTS
        sizes[tier] = (_size() - before) / DAYS / HOSTS
        before = _size()
        settings.OPSAPI_MEASUREMENT_PT1H_DAYS = hours
    sys.stdout.write(json.dumps({"hosts": hosts, "bytes": sizes, "seconds": seconds}))


def _filled(group_id: str) -> list[str]:
    today = begin_of(clock.now().date())
    days = [today - ahead * DAY for ahead in range(2, DAYS + 2)]
    ids = []
    for number, columns in enumerate(measured_day(HOSTS, rounded=True)):
        host = Host.objects.create(group_id=group_id, hostname=f"month{number}", port=27017, created=days[-1])
        source = Source.objects.create(host=host).id
        ids.append(host.id)
        for day in days:
            block = packed(_times(day), dict(_columns(columns)))
            execute(_WRITE, [source, day.date(), block.rows, block.metrics, block.ends, block.octets])
    for day in days:
        execute(_SHOW, [day.date()])
    return ids


def _times(day: datetime) -> Times:
    reported = microseconds(day) + np.arange(MINUTES) * 60_000_000
    return Times(reported, np.zeros(MINUTES, np.int16), np.zeros(MINUTES, np.int16))


def _columns(columns: list[np.ndarray[tuple[int], np.dtype[np.float64]]]) -> Iterator[tuple[int, Column]]:
    for number in range(METRICS):
        yield NUMBERS[Metric.CONNECTIONS] + number, Column(np.arange(MINUTES), columns[number])


def _size() -> int:
    [(size,)] = fetch_rows(_SIZE, [ROLLUP_BLOCKS])
    return int(size)
