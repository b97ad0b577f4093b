"""Requests to a running server, one after the other, and what came of them."""

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from opsapi.api.links import PUBLIC
from tests.api import bodies
from tests.hostile.assailant import ALWAYS
from tests.hostile.grammar import Attempt
from tests.hostile.octets import HostileConnection, TimedAnswer, ask_alone, request_octets
from tests.hostile.signer import HostileCaller
from tests.hostile.target import HostileTarget

UNSUPPORTED = {501, 505}
"""The server's own answers to codings and versions that it does not know."""

PUBLISHERS = {"GLOBAL_OWNER", "GROUP_OWNER"}
"""Who may read the secrets of an automation configuration."""

_NONCE = re.compile(r'nonce="([^"]+)"')
_PRIVATE_KEY = re.compile(r'"privateKey": ?"([0-9a-f-]{31})"')
_CHECKED = 50
"""So many requests after which it is looked whether the project still exists."""
_RENEWED = 500
"""So many requests after which there is another project."""
_FRAMING = {"CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING", "HTTP_EXPECT", "HTTP_CONNECTION"}
"""Headers after which the end of a request, or of its connection, is not known."""
_METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"}
"""Methods whose answers have a body."""


@dataclass
class BarrageTally:
    """What came of the requests of one kind."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    """Answers with a secret."""
    shapeless: list[str] = field(default_factory=list)
    """Refusals that are no error document."""
    slowest: tuple[float, str] = (0.0, "")
    slowest_refusal: tuple[float, str] = (0.0, "")

    def add(self, answer: TimedAnswer, octets: bytes) -> None:
        """Count an answer."""
        shown = shown_of(answer, octets)
        self.requests += 1
        self.statuses[answer.status] += 1
        if answer.status >= 500 and answer.status not in UNSUPPORTED:
            self.faults.append(shown)
        self.slowest = max(self.slowest, (answer.seconds, shown))
        if answer.status >= 400:
            self.slowest_refusal = max(self.slowest_refusal, (answer.seconds, shown))

    def row(self, kind: str) -> str:
        """A row of the table in the documents."""
        classes = Counter[int]()
        for status, number in self.statuses.items():
            classes[status // 100] += number
        unsupported = sum(self.statuses[status] for status in UNSUPPORTED)
        numbers = [self.requests, classes[2] + classes[3], classes[4], unsupported, classes[0]]
        found = [len(self.faults), len(self.leaked)]
        cells = [kind, *(f"{number:,}" for number in [*numbers, *found])]
        times = [f"{seconds * 1000:.0f} ms" for seconds, _ in (self.slowest_refusal, self.slowest)]
        return f"| {' | '.join([*cells, *times])} |"


def shown_of(answer: TimedAnswer, octets: bytes) -> str:
    """A request and its answer, for people."""
    return f"{answer.status} {octets[:300]!r} {answer.body[:300]!r}"


def is_error_document(answer: TimedAnswer) -> bool:
    """Whether a refusal has the one shape of refusals, enveloped or not."""
    try:
        document = json.loads(answer.body)
    except ValueError:
        return False
    document = document.get("content", document)
    return set(document) - {"badFields"} == ALWAYS and document["error"] == answer.status


class Barrage:
    """Sends requests to a target and holds the answers against what every answer has to be."""

    def __init__(self, target: HostileTarget, seed: str) -> None:
        self.target = target
        self.rng = random.Random(seed)
        self.tally = BarrageTally()
        self.keys: set[str] = set()
        """The private keys in answers."""
        self._connection = HostileConnection(target.port)

    def send(self, attempt: Attempt, caller: HostileCaller) -> None:
        """Send a request of a caller, with good credentials unless it has others."""
        method, path, body, headers = attempt
        if body:
            body = body.replace(bodies.TEAM_ID.encode(), self.target.known["team_id"].encode())
        credentials = caller.authorization(method, path) if self._is_ready(caller) else None
        signed = {"HTTP_AUTHORIZATION": credentials} if credentials else {}
        may_publish = "automationConfig" in path and caller.name in PUBLISHERS
        answer = self._answer(method, path, body, {**signed, **headers}, may_publish=may_publish)
        if "stale=true" in answer.headers:
            caller.nonce = ""
        self._keep_up()

    def send_signed(self, header: str) -> TimedAnswer:
        """The answer to a request with these credentials."""
        return self._answer("GET", PUBLIC, None, {"HTTP_AUTHORIZATION": header})

    def send_octets(self, pieces: Sequence[bytes]) -> None:
        """Send anything on a connection of its own."""
        self._check(ask_alone(self.target.port, pieces), b"".join(pieces))

    def values(self, caller: HostileCaller) -> Mapping[str, str]:
        """The values of good credentials."""
        assert self._is_ready(caller)
        return caller.parameters("GET", PUBLIC)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _is_ready(self, caller: HostileCaller) -> bool:
        """Whether the caller can sign, after a challenge where it has none."""
        if caller.signs and not caller.nonce:
            answer = self._connection.ask(request_octets("GET", PUBLIC, None, {}), "GET")
            found = _NONCE.search(answer.headers)
            assert answer.status == HTTPStatus.UNAUTHORIZED, answer
            assert found
            caller.take(found[1])
        return True

    def _answer(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, object],
        *,
        may_publish: bool = False,
    ) -> TimedAnswer:
        octets = request_octets(method, path, body, headers)
        if _FRAMING & headers.keys() or method not in _METHODS or not path.isprintable():
            answer = ask_alone(self.target.port, [octets])
        else:
            answer = self._connection.ask(octets, method)
        self._check(answer, octets, may_publish=may_publish)
        if answer.status >= 400 and method != "HEAD" and not is_error_document(answer):
            self.tally.shapeless.append(shown_of(answer, octets))
        return answer

    def _check(self, answer: TimedAnswer, octets: bytes, *, may_publish: bool = False) -> None:
        self.tally.add(answer, octets)
        text = answer.text
        self.keys.update(_PRIVATE_KEY.findall(text))
        secrets = self.target.secrets - {bodies.SECRET} if may_publish else self.target.secrets
        if any(secret in text for secret in secrets):
            self.tally.leaked.append(shown_of(answer, octets))

    def _keep_up(self) -> None:
        number = self.tally.requests
        if number % _RENEWED == 0 or (number % _CHECKED == 0 and self.target.is_spoilt):
            self.target.renew()
