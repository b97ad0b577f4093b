"""Whether an answer is the one the OpenAPI document promises: status, fields, their types, nothing more."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

from jsonschema_rs import Draft202012Validator, ValidationError

from opsapi.api.components import ERROR_SCHEMA, alone_or_enveloped
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
        path, document = unquote(target.partition("?")[0]), response.json()
        schema = _schema_of(method, path, response.status_code, document)
        faults = [f"{fault.instance_path}: {fault.message}" for fault in _faults(schema, document)]
        assert not faults, f"{method} {target}: {min(faults)}"


def _faults(schema: Any, document: Any) -> Iterator[ValidationError]:
    """What is wrong; of an answer that may have an envelope, of the form that it has."""
    if schema is None:
        return
    if not list(_validator(json.dumps(schema)).iter_errors(document)):
        return
    forms = schema.get("oneOf", [schema])
    form = forms[-1] if isinstance(document, dict) and "content" in document else forms[0]
    faults = list(_validator(json.dumps(form)).iter_errors(document))
    assert faults, f"{document} fits more than one of {forms}"
    yield from faults


def _schema_of(method: str, path: str, status: int, document: Any) -> Any:
    """Which schema the answer has to fit; None where the OpenAPI document has no schema of a success."""
    operation = _operation(method, path)
    if operation is None or status in UNDECLARED:
        return alone_or_enveloped(ERROR_SCHEMA) if status >= 400 else None
    responses = operation["responses"]
    assert str(status) in responses, f"{method} {path}: {status} {document} is not declared (refusals)"
    response = responses[str(status)]
    if "$ref" in response:
        codes = response["description"].split(", ")
        error = document.get("content", document) if isinstance(document, dict) else {}
        assert error.get("errorCode") in codes, f"{method} {path}: {document} is not declared (refusals)"
        response = published()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return response["content"]["application/json"]["schema"]


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
def _validator(written: str) -> Draft202012Validator:
    schema = {**json.loads(written), "components": _components()}
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
