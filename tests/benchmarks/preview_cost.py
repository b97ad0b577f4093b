"""The preview of a window with matchers in a project of 10,000 hosts with 500 open alerts."""

import time
from collections.abc import Callable
from contextlib import closing
from statistics import median

import orjson

from tests.benchmarks.client import LoadConnection, UnexpectedAnswer
from tests.benchmarks.figures import Line
from tests.benchmarks.scene import BenchmarkScene
from tests.benchmarks.signer import Signer

ROW = "window preview"
_TIMES = 20
_MATCHERS = {
    "HOSTNAME": {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"},
    "LABEL": {"fieldName": "LABEL", "operator": "EQUALS", "value": "env=production"},
}


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds of a preview, next to the list of the first 100 of the same hosts."""
    signer = Signer(scene.address, scene.labelled_admin)
    base = f"/api/public/v1.0/groups/{scene.filled.labelled_group_id}"
    with closing(LoadConnection(scene.address)) as connection:
        listed = _milliseconds(connection, lambda: signer.signed("GET", f"{base}/hosts?itemsPerPage=100"))

        def preview(*fields: str) -> float:
            body = orjson.dumps(_window([_MATCHERS[field] for field in fields]))
            target = f"{base}/maintenanceWindows/preview"
            return _milliseconds(connection, lambda: signer.signed("POST", target, body))

        return [
            Line(ROW, what, "ms", preview(*fields), listed, "list of 100 of the hosts")
            for what, fields in (
                ("without matchers", ()),
                ("with HOSTNAME", ("HOSTNAME",)),
                ("with HOSTNAME and LABEL", ("HOSTNAME", "LABEL")),
            )
        ]


def _window(matchers: list[dict[str, str]]) -> dict[str, object]:
    return {
        "startDate": "2099-01-01T00:00:00Z",
        "endDate": "2099-01-01T02:00:00Z",
        "alertTypeNames": ["HOST"],
        "matchers": matchers,
    }


def _milliseconds(connection: LoadConnection, signed: Callable[[], bytes]) -> float:
    """The median of several requests, after two that are not counted."""
    times = []
    for _ in range(_TIMES + 2):
        begin = time.monotonic()
        answer = connection.exchange(signed())
        times.append((time.monotonic() - begin) * 1000)
        if answer.status != 200:
            raise UnexpectedAnswer(f"status {answer.status}: {answer.body[:300]!r}")
    return median(times[2:])
