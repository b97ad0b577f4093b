"""A measured day that is packed. Needs a Django that is set up: see `packed_cost`."""

import json
import resource
import sys
from datetime import date

from automation.measurements.days import DAY, begin_of, days_create
from automation.measurements.packer import day_pack_some
from automation.measurements.tiers import CLOSED_AFTER
from automation.models import Host, Source
from opsapi.sql import execute, fetch_rows
from tests.benchmarks.measured_day import measured_day
from tests.factories.accesslist import ProjectFactory

_DAY = date(2000, 1, 1)
"""Long before the other days, which stay as they are."""
_FILL = """
INSERT INTO automation_reading (source_id, reported, report, age, numbers)
SELECT %(source)s, %(begin)s + (number - 1) * interval '1 minute', 0, 0, given.numbers::float8[]
  FROM unnest(%(numbers)s::text[]) WITH ORDINALITY AS given (numbers, number)
"""
_SIZE = """
SELECT pg_total_relation_size('automation_packedreadings'), sum(length(block)) FROM automation_packedreadings
"""
_EMPTY = "TRUNCATE automation_packing, automation_packedreadings"


def main() -> None:
    """Writes to stdout, as JSON, by whether rates are rounded: bytes of a value, and seconds of processor."""
    sys.stdout.write(json.dumps({str(rounded): _packed(rounded=rounded) for rounded in (False, True)}))


def _packed(*, rounded: bool) -> dict[str, float]:
    project = ProjectFactory.create(name=f"packed {rounded}")
    days_create([_DAY])
    values = 0
    for number, columns in enumerate(measured_day(rounded=rounded)):
        host = Host.objects.create(group=project, hostname=f"db{number}", port=27017, created=begin_of(_DAY))
        rows = [
            f"{{{','.join(map(repr, row))}}}"
            for row in zip(*(column.tolist() for column in columns), strict=True)
        ]
        source = Source.objects.create(host=host).id
        execute(_FILL, {"source": source, "begin": begin_of(_DAY), "numbers": rows})
        values += sum(len(column) for column in columns)
    execute(_EMPTY)
    before = resource.getrusage(resource.RUSAGE_SELF)
    while day_pack_some(now=begin_of(_DAY) + DAY + CLOSED_AFTER):
        """Step after step."""
    after = resource.getrusage(resource.RUSAGE_SELF)
    [(size, blocks)] = fetch_rows(_SIZE)
    execute(_EMPTY)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"disk": size / values, "blocks": int(blocks) / values, "seconds": seconds}
