"""Links: absolute URLs of this installation.

They begin with `OPSAPI_PUBLIC_URL` if it is set, else with the scheme and host of the request. The host
must be an allowed host. X-Forwarded-Host counts only if a trusted proxy wrote it. The scheme is the
request's, as `opsapi.api.middleware.client_scheme` set it.
"""

from collections.abc import Mapping

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

from opsapi.api.addresses import forwarded_value
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError

PUBLIC = "/api/public/v1.0"
DISCOVERY = "/prometheus/v1.0"
AGENTS = "/agents/v1.0"
API_BASES = (PUBLIC, DISCOVERY, AGENTS, "/health/", "/metrics", "/api/")
RELATION = "urn:opsapi:rel:"


def link(rel: str, href: str) -> dict[str, str]:
    """Return a link object. All values of `rel` except self, previous and next are our own relations."""
    own = rel if rel in {"self", "previous", "next"} else RELATION + rel
    return {"href": href, "rel": own}


class Links:
    """Links below a base URL."""

    __slots__ = ("base",)

    def __init__(self, base: str) -> None:
        self.base = base

    def to(self, path: str) -> str:
        """Return the absolute URL of a path of the public API (`/groups/…`)."""
        return f"{self.base}{PUBLIC}{path}"

    def self_only(self, path: str) -> list[dict[str, str]]:
        """Return the links of an object in a list."""
        return [{"href": self.to(path), "rel": "self"}]

    def related(self, path: str, relations: Mapping[str, str]) -> list[dict[str, str]]:
        """Return the links of a single object: self, then the relations (name → path)."""
        return self.self_only(path) + [link(name, self.to(target)) for name, target in relations.items()]


def base_url(request: HttpRequest) -> str:
    """Return the scheme and host of the platform as the caller reaches it, without a trailing slash.

    Raises: ApiError: INVALID_ATTRIBUTE, which names the Host header, if it is not an allowed host.
    """
    if settings.OPSAPI_PUBLIC_URL:
        return str(settings.OPSAPI_PUBLIC_URL)
    forwarded_host = forwarded_value(request, "X-Forwarded-Host")
    host = (forwarded_host or request.headers.get("Host") or _bound_to(request)).strip()
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        message = "is not an allowed host of this installation (OPSAPI_ALLOWED_HOSTS)"
        raise ApiError.of_field("Host", ErrorCode.INVALID_ATTRIBUTE, message)
    return f"{request.scheme}://{host}"


def _bound_to(request: HttpRequest) -> str:
    """Return the server's own name and port, for an HTTP/1.0 client that sends no Host."""
    return f"{request.META['SERVER_NAME']}:{request.META['SERVER_PORT']}"
