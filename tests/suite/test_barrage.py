"""The barrage of hostile requests sees faults, secrets and refusals without a shape."""

import json
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.hostile.assailant import ALWAYS
from tests.hostile.barrage import Barrage
from tests.hostile.signer import HostileCaller

SECRET = "of the platform"
ERROR = dict.fromkeys(ALWAYS, "") | {"error": 404}
ANSWERS = {
    "/good": (200, {"results": []}),
    "/fault": (500, {**ERROR, "error": 500}),
    "/unsupported": (501, {**ERROR, "error": 501}),
    "/secret": (200, {"password": SECRET}),
    "/refused": (404, ERROR),
    "/shapeless": (404, {"detail": "no"}),
    "/key": (201, {"privateKey": "0123abcd-0123-0123-0123456789ab"}),
}


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        status, document = ANSWERS[self.path]
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def barrage() -> Iterator[Barrage]:
    """At a server that answers each path in its own way."""
    with HTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        target = SimpleNamespace(port=server.server_port, secrets={SECRET}, known={}, is_spoilt=False)
        with closing(Barrage(cast(Any, target), "seed")) as made:
            yield made
        server.shutdown()
        thread.join()


def test_it_shows_faults_secrets_and_refusals_without_a_shape(barrage: Barrage) -> None:
    for path in ANSWERS:
        barrage.send(("GET", path, None, {}), HostileCaller("nobody"))
    tally = barrage.tally
    assert tally.requests == len(ANSWERS)
    for found, path in ((tally.faults, "/fault"), (tally.leaked, "/secret"), (tally.shapeless, "/shapeless")):
        (shown,) = found
        assert path in shown
    assert barrage.keys == {"0123abcd-0123-0123-0123456789ab"}
    assert tally.slowest_refusal[0] > 0
