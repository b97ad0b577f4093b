"""Every route of the API, collected from the URL resolver. Tests derive their tables from them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLResolver, get_resolver

from opsapi.api.catalogue import ErrorCode
from opsapi.api.permissions import Access, Where
from opsapi.api.views import ApiViewSet, UnknownPath

OF_NOTHING = "0123456789abcdef01234567"
"""A well-formed id that nothing has; always the same, so that parallel workers collect the same tests."""

OF_NO_ID = {"integration_type": "SCRAPER"}
"""Parameters from a closed set → a value of it."""

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Route:
    """One method on one path; `template` is absolute, with `<name>` for its parameters."""

    method: str
    template: str
    viewset: type[ApiViewSet]
    action: str

    def __str__(self) -> str:
        return f"{self.method} {self.template}"

    @property
    def access(self) -> Access:
        """Who may, as the view declares it."""
        return self.viewset.access[self.action]

    @property
    def needs_key(self) -> bool:
        """Whether the route needs an API key."""
        return self.access.where is not Where.NOWHERE

    @property
    def takes_body(self) -> bool:
        """Whether it reads a body."""
        return self.action in self.viewset.bodies

    @property
    def takes_array(self) -> bool:
        """Whether its body is an array of documents."""
        return isinstance(self.viewset.bodies.get(self.action), list)

    @property
    def needs_query(self) -> bool:
        """Whether it answers nothing without query parameters of its own."""
        return ErrorCode.MISSING_QUERY_PARAMETER in self.viewset.refusals.get(self.action, ())

    @property
    def parameters(self) -> list[str]:
        """The names of what is in its path."""
        return _PARAMETER.findall(self.template)

    @property
    def identifiers(self) -> list[str]:
        """The parameters that are ids. The others are names, which have no fixed form."""
        return [name for name in self.parameters if name.endswith("_id")]

    def path(self, known: Mapping[str, str] | None = None) -> str:
        """Its path with these parameters; what is not known is a well-formed id of nothing."""
        values = {**OF_NO_ID, **(known or {})}
        return _PARAMETER.sub(lambda found: values.get(found[1]) or OF_NOTHING, self.template)


def all_routes() -> list[Route]:
    """Every method of every path that an ApiViewSet serves, the catch-all of unknown paths aside."""
    return list(_routes(get_resolver(), "/"))


def _routes(resolver: URLResolver, prefix: str) -> Iterator[Route]:
    for pattern in resolver.url_patterns:
        template = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern, template)
        else:
            yield from _methods(pattern.callback, template)


def _methods(view: Any, template: str) -> Iterator[Route]:
    """The methods of one path, when an ApiViewSet serves it."""
    viewset = getattr(view, "cls", None)
    if viewset is not None and issubclass(viewset, ApiViewSet) and viewset is not UnknownPath:
        for method, action in view.actions.items():
            if method != "head":
                yield Route(method.upper(), template, viewset, action)


ROUTES = all_routes()
KEYED = [route for route in ROUTES if route.needs_key]
OPEN_ROUTES = [route for route in ROUTES if not route.needs_key]
