"""The base of every view. It checks each request in this order:

429 · 401 · 403 address · 404 path, 405 · 404 malformed ID · 403 role · 404 unknown ID · 415, 413 · 400 query
· 400 body.

The authentication class checks credentials and access lists. `initial` checks the rest, except the body,
which the action reads last with `body`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, ClassVar, NoReturn, cast

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from opsapi import clock
from opsapi.api.bodies import (
    LARGE_BODIES,
    OneRepresentation,
    check_media_type,
    enveloped,
    gunzip,
    gunzipped_size,
    is_compressed,
    read_body,
    read_json_array,
    read_json_object,
)
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, Values, read_array
from opsapi.api.errors import ApiError
from opsapi.api.links import Links, base_url
from opsapi.api.paging import Rows, list_document
from opsapi.api.permissions import Access
from opsapi.api.principal import Actor, Group, Principal
from opsapi.api.query import ENVELOPE, EVERYWHERE, PRETTY, Parameter, asks_for, read_query
from opsapi.api.resources import Facts, Resource
from opsapi.ids import is_id

MAX_BODY = 2 * 1024 * 1024


class ApiViewSet(ViewSet):
    """A viewset that declares access, query parameters and bodies as data, by action.

    `access`: action → required roles. `parameters`: action → query parameters except pretty and envelope.
    `bodies`: action → the request document, in a list if it accepts an array (`body_array`).
    `optional_bodies`: actions whose body can be left out. `answers`: action → the response document, in a
    list for list documents, None for no body. `identifiers`: path parameter → the error for a malformed ID
    (the principal checks the IDs of the project and the organization). `statuses`: action → success status
    if it is not 200. `also_answers`: action → other statuses with a document that is not an error.
    `refusals`: action → errors that do not follow from the rest (`opsapi.api.components`).
    """

    access: ClassVar[Mapping[str, Access]]
    parameters: ClassVar[Mapping[str, Sequence[Parameter]]] = {}
    bodies: ClassVar[Mapping[str, type[Document] | list[type[Document]]]] = {}
    optional_bodies: ClassVar[frozenset[str]] = frozenset()
    answers: ClassVar[Mapping[str, Any]] = {}
    statuses: ClassVar[Mapping[str, int]] = {}
    also_answers: ClassVar[Mapping[str, Mapping[int, Any]]] = {}
    refusals: ClassVar[Mapping[str, Sequence[ErrorCode]]] = {}
    identifiers: ClassVar[Mapping[str, ErrorCode]] = {}
    max_body: ClassVar[int] = MAX_BODY
    takes_gzip: ClassVar[bool] = False
    """Whether bodies can be compressed with gzip. `max_body` limits the compressed and decompressed size."""
    security: ClassVar[Sequence[str]] = ("digest",)
    """Names in `opsapi.api.components.SECURITY` of the authentication methods."""
    linked: ClassVar[bool] = True
    """Whether responses contain links. Health checks have none: load balancers send any Host."""
    deprecated: bool = False
    """Whether the path is an old name of another path. `route` sets it."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    content_negotiation_class = OneRepresentation
    format_kwarg = None

    group: Group
    """The project of the path, set when the caller's role in it was checked."""
    links: Links
    """Links with the URL that the caller uses, for actions with `answers`."""
    query: Mapping[str, Any]
    """The checked query parameters."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """As in DRF. Releases the request's share of LARGE_BODIES at the end."""
        with ExitStack() as self._held:
            return cast(Response, super().dispatch(request, *args, **kwargs))

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check everything except the content of the body."""
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        self.check_throttles(request)
        self.perform_authentication(request)
        if self._method() not in self.action_map:
            raise self._method_not_allowed()
        for name, code in self.identifiers.items():
            if name in kwargs and not is_id(kwargs[name]):
                raise ApiError(code, kwargs[name])
        self.check_permissions(request)
        self.load()
        self._raw_body = self._read_body() if self.action in self.bodies else b""
        if self.linked and self.action in self.answers:
            # Responses contain links. A Host that is not allowed must be refused before anything is written.
            self.links = Links(base_url(self.http_request))
        parameters = [*EVERYWHERE, *self.looked_at()]
        self.query = read_query(request.GET, parameters, self.http_request.headers)

    def check_throttles(self, request: Request) -> None:
        """Refuse callers that send too many requests (`accesslist.throttles`). The default has no limit."""

    def _method(self) -> str:
        method = (self.http_request.method or "").lower()
        return "get" if method == "head" else method

    def _method_not_allowed(self) -> ApiError:
        allowed = ", ".join(self.allowed_methods)
        return ApiError(
            ErrorCode.METHOD_NOT_ALLOWED, self.http_request.method or "", allowed, headers={"Allow": allowed}
        )

    def load(self) -> None:
        """Load the objects of the path, or raise the 404 of their kind. The default loads nothing."""

    def looked_at(self) -> Sequence[Parameter]:
        """Return the query parameters of this call. Views can leave out parameters that do not apply."""
        return self.parameters.get(self.action, ())

    def _has_body(self) -> bool:
        """Whether a body was sent: it has a length or a transfer encoding (RFC 9112, 6.3)."""
        sent = self.http_request.META
        return bool(sent.get("CONTENT_LENGTH") not in {None, "", "0"} or sent.get("HTTP_TRANSFER_ENCODING"))

    def _read_body(self) -> bytes:
        if self.action in self.optional_bodies and not self._has_body():
            return b"{}"
        check_media_type(self.http_request)
        compressed = is_compressed(self.http_request, may_be=self.takes_gzip)
        body = read_body(self.http_request, self.max_body)
        size = gunzipped_size(body, self.max_body) if compressed else len(body)
        self._held.enter_context(LARGE_BODIES.taking(size, group_id=self.kwargs.get("group_id", "")))
        return gunzip(body, self.max_body) if compressed else body

    def body(self, stored: Mapping[str, Any] | None = None, **context: Any) -> Values:
        """Return the checked body.

        `stored`: the current document, whose read-only fields can be sent back.

        Raises: ApiError: INVALID_JSON, or the code of the first wrong field, with all in `badFields`.
        """
        document = cast(type[Document], self.bodies[self.action])
        with document.within(stored=stored, **context) as reader:
            return reader.read(read_json_object(self._raw_body))

    def body_array(self, **context: Any) -> Sequence[Values]:
        """As `body`, for actions that take an array of documents."""
        (document,) = cast(list[type[Document]], self.bodies[self.action])
        with document.within(**context) as reader:
            return read_array(reader, read_json_array(self._raw_body))

    def list_of(self, resource: type[Resource], queryset: QuerySet[Any, Any]) -> Response:
        """Return a page of the rows, as documents of the resource."""
        rows = resource.rows(queryset)
        place = self.place
        return self.list(rows, lambda row: resource.present(resource.facts(row), self.links, place=place))

    def alone(self, resource: type[Resource], facts: Facts) -> Response:
        """Return a single document of the resource, with its relations."""
        return Response(resource.present(facts, self.links, place=self.place, alone=True))

    @property
    def place(self) -> Mapping[str, str]:
        """The parameters of the path. Paths of resources consist of them and of fields."""
        return self.kwargs

    def list(self, rows: Rows, present: Callable[[Any], Mapping[str, Any]]) -> Response:
        """Return a page of the rows. The action declares LISTING as a parameter."""
        document = list_document(
            rows, present, query=self.query, request=self.http_request, base=self.links.base
        )
        return Response(document)

    @property
    def http_request(self) -> HttpRequest:
        request: HttpRequest = self.request._request
        return request

    @property
    def principal(self) -> Principal:
        """The caller."""
        return cast(Principal, self.request.auth)

    @property
    def actor(self) -> Actor:
        """The caller, for services and events."""
        return self.principal.actor()

    @cached_property
    def now(self) -> datetime:
        """The time of this request, read once."""
        return clock.now()

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Set the declared status of a success, and apply envelope and pretty to documents and errors."""
        if response.status_code == 200:
            response.status_code = self.statuses.get(self.action or "", 200)
        if asks_for(self.http_request, ENVELOPE) and response.data is not None:
            lists = isinstance(self.answers.get(self.action or ""), list)
            response.data = enveloped(response.data, response.status_code, lists=lists)
        finished: Any = super().finalize_response(request, response, *args, **kwargs)
        finished.renderer_context["pretty"] = asks_for(self.http_request, PRETTY)
        return cast(Response, finished)


def read_write(read: Access, write: Access) -> Mapping[str, Access]:
    """Return the access of the usual actions of a resource."""
    return {"index": read, "retrieve": read, "create": write, "update": write, "destroy": write}


def answers_of(document: type[Document]) -> Mapping[str, Any]:
    """Return the answers of the usual actions of a resource: a list, or a single document."""
    return {"index": [document], "retrieve": document, "create": document, "update": document}


class UnknownPath(ApiViewSet):
    """Any path below a base of the API without a route: 401 first, then 404, for all methods."""

    access = {}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate first, so that strangers do not learn which paths exist."""
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        self.perform_authentication(request)
        self.refuse(request)

    def refuse(self, request: Request, **_: Any) -> NoReturn:
        raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, request.path)


def route(
    template: str,
    viewset: type[ApiViewSet],
    *,
    deprecated: bool = False,
    name: str | None = None,
    **actions: Any,
) -> URLPattern:
    """Return the route of a path such as `groups/<group_id>/alerts`.

    `actions`: method → action, such as `get="index", post="create"`. `deprecated`: the OpenAPI document marks
    the path as an old name of another path.
    """
    return path(template, viewset.as_view(actions, deprecated=deprecated), name=name)
