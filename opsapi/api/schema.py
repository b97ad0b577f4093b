"""Builds the OpenAPI document with drf-spectacular from the declarations of the views."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from django.apps import apps
from django.utils.module_loading import autodiscover_modules
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers

from opsapi.api.components import (
    ERROR_SCHEMA,
    HEADERS,
    SECURITY,
    alone_or_enveloped,
    envelope_of,
    refusal,
    refusal_headers,
    refusals_of,
    responses,
    success_headers,
)
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.errors import reason_phrase
from opsapi.api.permissions import OPEN
from opsapi.api.query import EVERYWHERE, Parameter
from opsapi.api.shapes import ShapedDocument, nullable
from opsapi.api.views import ApiViewSet
from opsapi.ids import ID_PATTERN
from opsapi.wire_json import JsonObject

_NULLABLE = "x-nullable"
_PATH_PARAMETER = re.compile(r"{(\w+)}")


class BadFieldDocument(serializers.Serializer[Any]):
    """A wrong field."""

    field = serializers.CharField()
    message = serializers.CharField()
    allowed = serializers.ListField(child=serializers.CharField(), required=False)


class ErrorDocument(serializers.Serializer[Any]):
    """The body of all refusals."""

    error = serializers.IntegerField()
    reason = serializers.CharField()
    errorCode = serializers.CharField()
    detail = serializers.CharField()
    parameters = serializers.ListField(child=serializers.CharField())
    badFields = BadFieldDocument(many=True, required=False)


class DocumentExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Adds the example, older names and deprecated names of a Document to its schema."""

    target_class = Document
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> JsonObject:
        """Return the schema of the document as a request or as a response."""
        document = cast(Document, self.target)
        plain: Any = auto_schema._map_serializer(document, direction, bypass_extensions=True)  # type: ignore[no-untyped-call]  # the documented way
        schema: JsonObject = plain
        properties = schema.get("properties", {})
        if direction == "request":
            properties |= _older_properties(document, properties)
            schema |= _necessity(document, schema)
        for name in sorted(document.deprecated_fields & properties.keys()):
            properties[name]["deprecated"] = True
        example = sent_example(document) if direction == "request" else document.sample()
        return {**schema, "examples": [example]} if example else schema


class ShapeExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Describes ShapedDocuments to drf-spectacular."""

    target_class = ShapedDocument
    match_subclasses = True
    priority = 1

    def map_serializer(
        self, auto_schema: AutoSchema, direction: Literal["request", "response"]
    ) -> JsonObject:
        document = cast(ShapedDocument, self.target)

        def reference(other: type[Document]) -> JsonObject:
            component: Any = auto_schema.resolve_serializer(other, direction)
            return cast(JsonObject, component.ref)

        example = document.request_example if direction == "request" else document.sample()
        return {**document.shape(reference), "examples": [example]}


def sent_example(document: Document) -> Mapping[str, Any]:
    """Return an example of the document as a request: without read-only fields."""
    written = {
        name: value
        for name, value in document.sample().items()
        if name in document.fields and not document.fields[name].read_only
    }
    return document.request_example or written


def _necessity(document: Document, schema: Mapping[str, Any]) -> JsonObject:
    """Change the schema of fields with two names: required fields need either, others can be null."""
    required = set(schema.get("required", ()))
    older = {name: field for name, field in document.older_names.items() if field in required}
    optional = schema.get("properties", {}).keys() - required - older.keys()
    keywords: JsonObject = {_NULLABLE: sorted(optional)}
    if older:
        keywords["required"] = sorted(required - set(older.values()))
        keywords["allOf"] = [
            {"anyOf": [{"required": [field]}, {"required": [name]}]} for name, field in older.items()
        ]
    return keywords


def describe_nulls(result: JsonObject, **_: Any) -> JsonObject:
    """Make optional fields nullable, after drf-spectacular has named their closed sets."""
    for component in result["components"]["schemas"].values():
        for name in component.pop(_NULLABLE, ()):
            component["properties"][name] = nullable(component["properties"][name])
    return result


def _older_properties(document: Document, properties: Mapping[str, Any]) -> JsonObject:
    """Return properties for names that clients still send: older names, and ignored fields."""
    older = {
        name: {**properties[field], "deprecated": True, "description": f"Older name of {field}."}
        for name, field in document.older_names.items()
    }
    unused = {"deprecated": True, "description": "Accepted and ignored."}
    return older | {name: dict(unused) for name in sorted(document.ignored)}


class DeclaredSchema(AutoSchema):
    """Describes an ApiViewSet: access, parameters, bodies, answers, statuses, refusals."""

    @property
    def _api_view(self) -> ApiViewSet:
        return cast(ApiViewSet, self.view)

    def get_operation_id(self) -> str:
        """Return path and action, which are unique together."""
        words = [word.strip("{}") for word in self.path.strip("/").replace(".", "_").split("/")]
        return "_".join([*words, self._action])

    def get_tags(self) -> list[str]:
        """Return the app of the view, by its display name."""
        app = type(self._api_view).__module__.split(".")[0]
        return [str(apps.get_app_config(app).verbose_name)]

    def get_auth(self) -> list[JsonObject]:
        """Return the authentication methods, of which one is enough; none for open views."""
        is_open = self._api_view.access[self._action] is OPEN
        return [] if is_open else [{scheme: []} for scheme in self._api_view.security]

    def get_description(self) -> str:  # type: ignore[override]  # drf-spectacular takes no arguments here
        """Return the docstring of the action and the required roles."""
        access = self._api_view.access[self._action]
        roles = " or ".join(role.value for role in access.roles)
        needed = f"Needs {roles} ({access.where.value})." if roles else f"{access.where.value}."
        return f"{super().get_description()}\n\n{needed}"

    def get_summary(self) -> str:
        """Return the first sentence of the action's docstring."""
        text: str = super().get_description()
        return text.partition("\n")[0].rstrip(".")

    def get_override_parameters(self) -> list[Any]:
        declared = (*EVERYWHERE, *self._api_view.parameters.get(self._action, ()))
        named = _PATH_PARAMETER.findall(self.path)
        return [*[_of_path(name) for name in named], *[_described(parameter) for parameter in declared]]

    def get_request_serializer(self) -> Any:
        body = self._api_view.bodies.get(self._action)
        return body[0](many=True) if isinstance(body, list) else body

    def get_response_serializers(self) -> Any:
        """Return the declared response with its status, and other responses that are not refusals."""
        status = self._api_view.statuses.get(self._action, 200)
        answer = self._api_view.answers.get(self._action)
        response = _list_of(answer[0]) if isinstance(answer, list) else answer
        response = response or OpenApiResponse(description="No body.")
        return {status: response, **self._api_view.also_answers.get(self._action, {})}

    def is_deprecated(self) -> bool:
        """Whether the path is an old name of another path."""
        return self._api_view.deprecated

    def get_operation(self, *args: Any, **kwargs: Any) -> JsonObject:
        """Return the operation with its headers and refusals."""
        operation = cast(JsonObject, super().get_operation(*args, **kwargs))
        responses = operation["responses"]
        for text, response in responses.items():
            status = int(text)
            response["description"] = response["description"] or reason_phrase(status)
            response["headers"] = success_headers() if status < 400 else refusal_headers(status)
            if not isinstance(self._api_view.answers.get(self._action), list):
                for content in response.get("content", {}).values():
                    reference = content["schema"]["$ref"]
                    content["schema"] = alone_or_enveloped(reference)
                    self._register_envelope(reference)
        refusals = refusals_of(self._api_view, self._action, _PATH_PARAMETER.findall(self.path))
        for number, codes in refusals.items():
            responses.setdefault(str(number), refusal(number, codes))
        self.resolve_serializer(ErrorDocument, "response")
        self._register_envelope(ERROR_SCHEMA)
        return operation

    def _register_envelope(self, reference: str) -> None:
        name, schema = envelope_of(reference)
        component: Any = ResolvedComponent(name, ResolvedComponent.SCHEMA, schema, object=name)  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
        self.registry.register_on_missing(component)

    @property
    def _action(self) -> str:
        return str(self._api_view.action)


@lru_cache
def _list_of(document: type[Document]) -> Any:
    """Return the list document of these results, the same object for every route."""
    return inline_serializer(
        f"{document.__name__.removesuffix('Document')}List",
        {
            "results": document(many=True),
            "links": LinkDocument(many=True),
            "totalCount": serializers.IntegerField(required=False),
            "status": serializers.IntegerField(
                required=False, help_text="The HTTP status, only with `envelope=true`."
            ),
        },
    )


def _of_path(name: str) -> OpenApiParameter:
    form = {"pattern": f"^{ID_PATTERN}$"} if name.endswith("_id") else {"minLength": 1}
    schema = {"type": "string", **form}
    return OpenApiParameter(name, schema, location=OpenApiParameter.PATH, required=True)


def _described(parameter: Parameter) -> OpenApiParameter:
    schema = dict(parameter.schema or {"type": "string"})
    if parameter.repeatable:
        schema = {"type": "array", "items": schema}
    return OpenApiParameter(
        parameter.name,
        schema,
        location=OpenApiParameter.HEADER if parameter.is_header else OpenApiParameter.QUERY,
        description=parameter.description,
        deprecated=parameter.deprecated,
    )


class PublishedGenerator(SchemaGenerator):
    """Describes the routes of the API under their real paths."""

    def get_schema(self, request: Any = None, public: bool = True) -> JsonObject:
        """Return the OpenAPI document with its shared components."""
        # Only the document needs the extensions of the apps: a worker would import drf-spectacular with them.
        autodiscover_modules("openapi")
        document: JsonObject = super().get_schema(request, public)  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
        document["components"] |= {
            "headers": HEADERS,
            "responses": responses(),
            "securitySchemes": SECURITY,
        }
        return document


@lru_cache(maxsize=1)
def openapi_document() -> JsonObject:
    document: JsonObject = PublishedGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # its constructor
    return document
