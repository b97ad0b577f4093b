"""The OpenAPI document has refusals, headers, examples and deprecated names next to the schemas."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from jsonschema import Draft202012Validator

from opsapi.api.answers import Answer
from opsapi.api.bodies import enveloped
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, read_array
from opsapi.api.errors import ApiError
from opsapi.api.schema import openapi_document, sent_example
from opsapi.api.shapes import ShapedDocument
from tests.api.routes import ROUTES, Route
from tests.each import each

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ALWAYS = {"X-Request-ID", "Strict-Transport-Security"}
PUBLIC = "/api/public/v1.0"


def one_of(declared: Any) -> Any:
    """The document of a body or an answer, which may be a list of it."""
    return declared[0] if isinstance(declared, list) else declared


def named(documents: Iterator[Any]) -> list[Any]:
    """Each once, under its name, in one order."""
    return sorted({one_of(each) for each in documents if each}, key=lambda each: str(each.__name__))


ALL_BODIES = named(route.viewset.bodies.get(route.action) for route in ROUTES)
BODIES = [document for document in ALL_BODIES if document().fields or issubclass(document, ShapedDocument)]
ANSWERS = named(route.viewset.answers.get(route.action) for route in ROUTES)


def operation_of(route: Route) -> Mapping[str, Any]:
    """What the document says of a route."""
    path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route.template)
    operation: Mapping[str, Any] = openapi_document()["paths"][path][route.method.lower()]
    return operation


def resolved(reference: str) -> Any:
    """What a reference within the document means."""
    found: Any = openapi_document()
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    return found


def references(part: Any) -> Iterator[str]:
    """Every reference in it."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for each in part.values():
            yield from references(each)
    elif isinstance(part, list):
        for each in part:
            yield from references(each)


def test_every_reference_leads_somewhere() -> None:
    found = set(references(openapi_document()))
    assert len(found) > 50
    for reference in found:
        assert resolved(reference)


@each("route", ROUTES, ids=str)
def test_an_operation_shows_every_refusal_with_its_codes(route: Route) -> None:
    responses = operation_of(route)["responses"]
    expected = {"400", "500", "503"}
    expected |= {"401", "403", "429"} if route.needs_key else set()
    expected |= {"413", "415"} if route.takes_body else set()
    expected |= {"404"} if route.parameters else set()
    assert expected <= set(responses)
    for status, response in responses.items():
        if "$ref" in response:
            codes = [ErrorCode[code] for code in response["description"].split(", ")]
            assert {code.status for code in codes} == {int(status)}


@each("route", ROUTES, ids=str)
def test_an_operation_shows_the_headers_of_its_answers(route: Route) -> None:
    for status, response in operation_of(route)["responses"].items():
        whole = resolved(response["$ref"]) if "$ref" in response else response
        assert whole["description"]
        assert set(whole["headers"]) >= ALWAYS
        assert ("X-Vendor-Service-Version" in whole["headers"]) is (int(status) < 400)


@each(
    ("name", "header"),
    [
        ("Unauthorized", "WWW-Authenticate"),
        ("MethodNotAllowed", "Allow"),
        ("TooManyRequests", "Retry-After"),
        ("Unavailable", "Retry-After"),
    ],
)
def test_a_refusal_has_the_header_that_helps(name: str, header: str) -> None:
    assert set(resolved(f"#/components/responses/{name}")["headers"]) == {*ALWAYS, header}


def test_the_examples_of_refusals_are_error_documents() -> None:
    for response in openapi_document()["components"]["responses"].values():
        content = response["content"]["application/json"]
        assert not faults(content["schema"], content["example"])
        enveloped = {"status": content["example"]["error"], "content": content["example"]}
        assert not faults(content["schema"], enveloped)
        assert ErrorCode[content["example"]["errorCode"]]


@each("document", ANSWERS, ids=lambda document: document.__name__)
def test_the_example_of_an_answer_fits_its_schema(document: type[Document]) -> None:
    assert document.sample()
    assert not faults(f"#/components/schemas/{document.__name__}", document.sample())


@each("route", ROUTES, ids=str)
def test_an_example_fits_its_operation_with_and_without_an_envelope(route: Route) -> None:
    """An answer fits one form alone, so that a client knows which it has."""
    documents = {document.__name__: document for document in ANSWERS}
    for response in operation_of(route)["responses"].values():
        for content in response.get("content", {}).values():
            schema = content["schema"]
            if "oneOf" not in schema:
                assert "status" in resolved(schema["$ref"])["properties"]
                continue
            name = schema["oneOf"][0]["$ref"].rpartition("/")[2]
            example = documents[name].sample()
            assert not faults(schema, example)
            assert not faults(schema, enveloped(example, 200, lists=False))
            assert faults(schema["oneOf"][0], enveloped(example, 200, lists=False))
            assert faults(schema["oneOf"][1], example)


def test_no_document_repeats_its_fields_in_an_example() -> None:
    """Documents without fields are the exception."""
    found = {document for document in below(Document) if "example" in vars(document)}
    assert found
    assert {document.__name__ for document in found if not issubclass(document, ShapedDocument)} == set()


def test_fields_that_are_computed_or_come_first_exist() -> None:
    answers = set(below(Answer))
    assert len(answers) > 20
    for answer in answers:
        fields = answer().fields
        assert {*answer.computed, *answer.order, *answer.answer_order} <= fields.keys(), answer


def below(kind: type[Any]) -> Iterator[type[Any]]:
    """The subclasses of the product, at any depth."""
    for document in kind.__subclasses__():
        if not document.__module__.startswith("tests."):
            yield document
            yield from below(document)


def test_a_body_without_fields_is_optional_and_not_described() -> None:
    without = [document for document in ALL_BODIES if document not in BODIES]
    routes = [route for route in ROUTES if one_of(route.viewset.bodies.get(route.action)) in without]
    assert routes
    assert all(route.action in route.viewset.optional_bodies for route in routes)
    assert not any("requestBody" in operation_of(route) for route in routes)


@each("document", BODIES, ids=lambda document: document.__name__)
def test_the_example_of_a_body_is_taken(document: type[Document]) -> None:
    example = sent_example(document())
    assert example
    context = {"now": NOW, "group_id": None, "stored": document.sample()}
    assert read_array(document(context=context), [example])


@each("document", BODIES, ids=lambda document: document.__name__)
def test_null_is_the_same_as_left_out(document: type[Document]) -> None:
    schema = f"#/components/schemas/{document.__name__}Request"
    example = sent_example(document())
    for name in set(resolved(schema).get("properties", ())) - set(document.older_names):
        absent = {other: value for other, value in example.items() if other != name}
        null = {**absent, name: None}
        assert is_taken(document, null) is is_taken(document, absent), name
        assert bool(faults(schema, null)) is bool(faults(schema, absent)), name


def is_taken(document: type[Document], sent: dict[str, Any]) -> bool:
    """Whether the body is."""
    context = {"now": NOW, "group_id": None, "stored": document.sample()}
    try:
        return bool(read_array(document(context=context), [sent]))
    except ApiError:
        return False


@each("name", ["fieldName", "field"])
def test_either_name_of_a_matchers_field_fits_its_schema(name: str) -> None:
    schema = "#/components/schemas/MatcherDocumentRequest"
    rest = {"operator": "EQUALS", "value": "db1"}
    assert not faults(schema, {name: "HOSTNAME", **rest})
    assert faults(schema, rest)
    assert faults(schema, {name: None, **rest})


@each(
    ("schema", "name"),
    [
        ("RootDocument", "throttling"),
        ("AlertConfigDocument", "typeName"),
        ("AlertConfigDocumentRequest", "typeName"),
        ("MatcherDocumentRequest", "field"),
    ],
)
def test_a_field_nobody_should_use_any_more_is_marked(schema: str, name: str) -> None:
    assert openapi_document()["components"]["schemas"][schema]["properties"][name]["deprecated"] is True


def test_older_paths_and_parameters_are_marked() -> None:
    paths = openapi_document()["paths"]
    (older,) = [
        parameter
        for parameter in paths[f"{PUBLIC}/unauth/users"]["post"]["parameters"]
        if parameter.get("deprecated")
    ]
    assert older["name"] == "whitelist"
    marked = {
        path
        for path, operations in paths.items()
        for operation in operations.values()
        if operation.get("deprecated")
    }
    assert marked == {path for path in paths if path.startswith(f"{PUBLIC}/admin/whitelist")} != set()


def test_operations_name_their_authentication() -> None:
    schemes = openapi_document()["components"]["securitySchemes"]
    assert {name: (scheme["type"], scheme["scheme"]) for name, scheme in schemes.items()} == {
        "digest": ("http", "digest"),
        "basic": ("http", "basic"),
    }
    for route in ROUTES:
        taken = ["digest", "basic"] if route.template.endswith("/discovery") else ["digest"]
        named_schemes = [
            name for requirement in operation_of(route).get("security", ()) for name in requirement
        ]
        assert named_schemes == (taken if route.needs_key else []), route


def faults(schema: str | Mapping[str, Any], document: Any) -> list[str]:
    """Why the document does not fit the schema, or the schema with this reference."""
    named = {"$ref": schema} if isinstance(schema, str) else schema
    schema = {**named, "components": openapi_document()["components"]}
    return [error.message for error in Draft202012Validator(schema).iter_errors(document)]
