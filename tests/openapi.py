"""Whether an answer is the one the OpenAPI document promises: status, fields, their types, nothing more."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

from jsonschema_rs import Draft202012Validator, ValidationError

from opsapi.api.components import ERROR_SCHEMA
from opsapi.api.root import DOCUMENT

UNDECLARED = frozenset({405})
"""What any path can answer to a method it does not have: it is no operation's answer."""

_WIRE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def _is_wire_time(value: str) -> bool:
    return _WIRE_TIME.fullmatch(value) is not None


@cache
def published() -> Any:
    """The document that clients get: reading it takes milliseconds, and generating it seconds."""
    return json.loads(DOCUMENT.read_bytes())


def check_answer(method: str, target: str, response: Any) -> None:
    """Raise AssertionError when the document does not promise this answer to this request."""
    if method == "HEAD" or response.status_code in {204, 304}:
        assert response.content == b"", f"{method} {target} has a body"
    elif response.headers["Content-Type"].startswith("application/json"):
        path, document = unquote(target.partition("?")[0]), _content(response.json())
        name = _schema_name(method, path, response.status_code, document)
        faults = [f"{fault.instance_path}: {fault.message}" for fault in _faults(name, document)]
        assert not faults, f"{method} {target}: {min(faults)}"


def _faults(name: str | None, document: Any) -> Iterator[ValidationError]:
    return _validator(name).iter_errors(document) if name else iter(())


def _content(answer: Any) -> Any:
    """The document inside an envelope."""
    if not isinstance(answer, dict) or "status" not in answer:
        return answer
    if "content" in answer:
        return answer["content"]
    return (
        {name: value for name, value in answer.items() if name != "status"} if "results" in answer else answer
    )


def _schema_name(method: str, path: str, status: int, document: Any) -> str | None:
    """Which schema the answer has to fit; None where the OpenAPI document has no schema of a success."""
    operation = _operation(method, path)
    if operation is None or status in UNDECLARED:
        return ERROR_SCHEMA if status >= 400 else None
    responses = operation["responses"]
    assert str(status) in responses, f"{method} {path}: {status} {document} is not declared (refusals)"
    if "$ref" in responses[str(status)]:
        codes = responses[str(status)]["description"].split(", ")
        assert document.get("errorCode") in codes, f"{method} {path}: {document} is not declared (refusals)"
        return ERROR_SCHEMA
    reference: str = responses[str(status)]["content"]["application/json"]["schema"]["$ref"]
    return reference


def _operation(method: str, path: str) -> Mapping[str, Any] | None:
    """The operation of the path that names it most literally."""
    bare = path.removesuffix("/")
    return next(
        (operation for pattern, operation in _operations(method.lower()) if pattern.fullmatch(bare)), None
    )


@cache
def _operations(method: str) -> list[tuple[re.Pattern[str], Mapping[str, Any]]]:
    """The operations of a method, the most literal path first."""
    paths = published()["paths"]
    # What is literal sorts before a brace, where two differ first, and what goes on before what ends.
    templates = sorted(
        (template for template in paths if method in paths[template]), key=lambda template: template + "~"
    )
    return [(_pattern(template), paths[template][method]) for template in templates]


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", _value, re.escape(template)))


def _value(parameter: re.Match[str]) -> str:
    """What a parameter takes: these a segment, what else there is slashes too but no line break."""
    return "[^/]+" if parameter[1].endswith(("_id", "agent_type")) else ".+"


@cache
def _components() -> Any:
    return _closed(json.loads(DOCUMENT.read_bytes())["components"])


@cache
def _validator(reference: str) -> Draft202012Validator:
    schema = {"$ref": reference, "components": _components()}
    return Draft202012Validator(schema, formats={"date-time": _is_wire_time}, validate_formats=True)


def _closed(schema: Any) -> Any:
    """The schema in which objects have only the named properties."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
        for part in schema.values():
            _closed(part)
    elif isinstance(schema, list):
        for part in schema:
            _closed(part)
    return schema
