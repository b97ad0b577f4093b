"""A receiver that reads requests as a provider does and answers as it would."""

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

from jsonschema import Draft202012Validator

from tests.receivers import HttpReceiver, ReceivedRequest

Verifier = Callable[[ReceivedRequest], tuple[int, Mapping[str, Any]]]


def provide(receiver: HttpReceiver, respond: Verifier) -> None:
    """From now on the receiver answers with the status and JSON document that `respond` gives a request."""

    def behaviour(handler: BaseHTTPRequestHandler) -> None:
        status, document = respond(receiver.requests[-1])
        body = json.dumps(document).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    receiver.behave(behaviour)


def json_of(request: ReceivedRequest) -> Any:
    """The document of a request that says it is JSON."""
    assert request.headers["Content-Type"] == "application/json"
    return json.loads(request.body)


def faults(document: object, schema: Mapping[str, Any]) -> list[str]:
    """What a document has wrong, one line each."""
    return [error.message for error in Draft202012Validator(schema).iter_errors(document)]


def strings(**limits: int) -> dict[str, dict[str, Any]]:
    """Schemas of strings that are not empty, name → most characters."""
    return {name: {"type": "string", "minLength": 1, "maxLength": limit} for name, limit in limits.items()}


def closed(**properties: object) -> dict[str, object]:
    """The schema of an object that has all these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
