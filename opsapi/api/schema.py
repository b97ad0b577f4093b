"""The OpenAPI document: what the views declare, told to drf-spectacular (decisions 1, "base paths")."""

import re
from functools import lru_cache
from typing import Any, cast

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from opsapi.api.documents import Document, LinkDocument
from opsapi.api.permissions import OPEN, Where
from opsapi.api.query import EVERYWHERE, Parameter
from opsapi.api.views import ApiViewSet
from opsapi.ids import ID_PATTERN

_PATH_PARAMETER = re.compile(r"{(\w+)}")


class BadFieldDocument(serializers.Serializer[Any]):
    """One wrong field."""

    field = serializers.CharField()
    message = serializers.CharField()
    allowed = serializers.ListField(child=serializers.CharField(), required=False)


class ErrorDocument(serializers.Serializer[Any]):
    """The body of every refusal (decisions 1, "Error document")."""

    error = serializers.IntegerField()
    reason = serializers.CharField()
    errorCode = serializers.CharField()
    detail = serializers.CharField()
    parameters = serializers.ListField(child=serializers.CharField())
    badFields = BadFieldDocument(many=True, required=False)


class DeclaredSchema(AutoSchema):
    """Reads `access`, `parameters`, `bodies`, `answers` and `statuses` of an ApiViewSet."""

    @property
    def _api_view(self) -> ApiViewSet:
        return cast(ApiViewSet, self.view)

    def get_operation_id(self) -> str:
        """Path and action; unique because a path has each action once."""
        words = [word.strip("{}") for word in self.path.strip("/").replace(".", "_").split("/")]
        return "_".join([*words, self._action])

    def get_tags(self) -> list[str]:
        """The app that serves it."""
        return [type(self._api_view).__module__.split(".")[0]]

    def get_auth(self) -> list[dict[str, Any]]:
        """Digest, except where no key is needed."""
        return [] if self._api_view.access[self._action] is OPEN else [{"digest": []}]

    def get_description(self) -> str:  # type: ignore[override]  # drf-spectacular takes no arguments here
        """The action's docstring and the roles that open it."""
        access = self._api_view.access[self._action]
        roles = " or ".join(role.value for role in access.roles)
        told = f"Needs {roles} ({access.where.value})." if roles else access.where.value.capitalize() + "."
        return f"{super().get_description()}\n\n{told}"

    def get_override_parameters(self) -> list[Any]:
        """The declared query parameters."""
        declared = (*EVERYWHERE, *self._api_view.parameters.get(self._action, ()))
        named = _PATH_PARAMETER.findall(self.path)
        return [*[_of_path(name) for name in named], *[_described(one) for one in declared]]

    def get_request_serializer(self) -> Any:
        """The declared body."""
        body = self._api_view.bodies.get(self._action)
        return body[0](many=True) if isinstance(body, list) else body

    def get_response_serializers(self) -> Any:
        """The declared answer with its status, and the refusals."""
        status = self._api_view.statuses.get(self._action, 200)
        answer = self._api_view.answers.get(self._action)
        shown = OpenApiResponse(description="No body.") if answer is None else self._document_of(answer)
        responses: dict[int, Any] = {status: shown}
        for refusal in self._refusals():
            responses[refusal] = ErrorDocument
        return responses

    def _document_of(self, answer: Any) -> Any:
        return _list_of(answer[0]) if isinstance(answer, list) else answer

    def _refusals(self) -> list[int]:
        access = self._api_view.access[self._action]
        found = {400}
        if access.where is not Where.NOWHERE:
            found |= {401, 403}
        if "{" in self.path:
            found.add(404)
        if self._action in self._api_view.bodies:
            found |= {403, 404, 409, 413, 415}
        return sorted(found)

    @property
    def _action(self) -> str:
        return str(self._api_view.action)


@lru_cache
def _list_of(document: type[Document]) -> Any:
    """The list document of these results; one and the same for every route that gives it."""
    return inline_serializer(
        f"{document.__name__.removesuffix('Document')}List",
        {
            "results": document(many=True),
            "links": LinkDocument(many=True),
            "totalCount": serializers.IntegerField(required=False),
        },
    )


def _of_path(name: str) -> OpenApiParameter:
    schema = {"type": "string", "pattern": f"^{ID_PATTERN}$"}
    return OpenApiParameter(name, schema, location=OpenApiParameter.PATH, required=True)


def _described(parameter: Parameter) -> OpenApiParameter:
    schema = dict(parameter.schema or {"type": "string"})
    if parameter.repeatable:
        schema = {"type": "array", "items": schema}
    return OpenApiParameter(
        parameter.name, schema, description=parameter.description, deprecated=parameter.deprecated
    )


class PublishedGenerator(SchemaGenerator):
    """Only the API's own routes, under their real paths."""

    def get_schema(self, request: Any = None, public: bool = True) -> dict[str, Any]:
        """The OpenAPI document with the digest scheme."""
        document: dict[str, Any] = super().get_schema(request, public)  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
        schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["digest"] = {"type": "http", "scheme": "digest"}
        return document


@lru_cache(maxsize=1)
def openapi_document() -> dict[str, Any]:
    """The document of this build; it depends on nothing else."""
    document: dict[str, Any] = PublishedGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # its constructor
    return document


class SchemaViewSet(ApiViewSet):
    """`/api/schema/`."""

    schema = None
    authentication_classes = []
    access = {"retrieve": OPEN}

    def retrieve(self, request: Request) -> Response:
        """The OpenAPI 3.1 document of exactly the routes that exist."""
        return Response(openapi_document())
