"""Authentication of scrapers: HTTP Basic, because no scraper supports Digest (decisions 2, row 15)."""

import base64
import hmac
import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accesslist.digest.authentication import DigestAuthentication, refused
from accesslist.metrics import FailedAuthentication
from integrations.credentials.models import Integration
from integrations.credentials.store import integration_values, live_integration
from integrations.types import SCRAPER
from opsapi import clock
from opsapi.api.addresses import remote_address
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, needs_role
from opsapi.api.principal import Actor, ActorKind, Group, Principal
from opsapi.encryption import CannotDecryptError
from opsapi.ids import is_id
from opsapi.roles import IMPLIED, Role


class ScraperPrincipal:
    """A scraper with the credentials of a project's SCRAPER integration; it can read only that project."""

    def __init__(self, scraper: Integration, username: str, remote_address: str | None) -> None:
        """`scraper` comes with its project, which is not deleted."""
        project = scraper.group
        self._group = Group(project.id, project.name, project.org_id or "")
        self._actor = Actor(ActorKind.AGENT, scraper.id, username, remote_address=remote_address)

    def actor(self) -> Actor:
        return self._actor

    def authorise(self, roles: Sequence[Role]) -> None:
        raise needs_role(roles)

    def authorise_group(self, roles: Sequence[Role], group_id: str) -> Group:
        if group_id != self._group.id:
            raise ApiError(ErrorCode.NOT_IN_GROUP, group_id)
        if not IMPLIED[Role.GROUP_READ_ONLY] & frozenset(roles):
            raise needs_role(roles)
        return self._group

    def authorise_org(self, roles: Sequence[Role], org_id: str) -> None:
        raise needs_role(roles)


logger = logging.getLogger("opsapi.authentication")

_NOBODY: Mapping[str, str] = {"username": secrets.token_hex(), "password": secrets.token_hex()}


class DiscoveryAuthentication(BaseAuthentication):
    """An API key with Digest, or the SCRAPER credentials of the project with Basic (RFC 7617).

    Access lists do not apply to Basic credentials. Wrong ones count and are answered like wrong keys.
    """

    def authenticate(self, request: Request) -> tuple[object, Principal]:
        """Return (actor, principal).

        Raises:
            ApiError: UNAUTHORIZED with a digest challenge, RATE_LIMITED, IP_ADDRESS_NOT_ON_ACCESS_LIST.
        """
        http_request: HttpRequest = request._request
        scheme, _, encoded = http_request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return DigestAuthentication().authenticate(request)
        username, password = _decoded(encoded.strip(" "))
        scraper = _scraper(request.parser_context["kwargs"].get("group_id"))
        if not _known(scraper, username, password) or scraper is None:
            raise refused(http_request, clock.now(), FailedAuthentication.SCRAPER_CREDENTIALS)
        http_request.actor_name = username  # type: ignore[attr-defined]  # read by the request log
        principal = ScraperPrincipal(scraper, username, remote_address(http_request))
        return principal.actor(), principal


def _decoded(encoded: str) -> tuple[str, str]:
    """Username and password; both empty, which matches nobody, if they are missing or unreadable."""
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        return "", ""
    username, _, password = text.partition(":")
    return username, password


def _scraper(group_id: str | None) -> Integration | None:
    """The enabled SCRAPER integration of the project in the path."""
    if group_id is None or not is_id(group_id):
        return None
    integration = live_integration(group_id, SCRAPER.type)
    return integration if integration and integration.fields["enabled"] else None


def _known(scraper: Integration | None, username: str, password: str) -> bool:
    """Whether the credentials match, in constant time. Without an integration, the same comparisons run."""
    known = _NOBODY if scraper is None else _credentials(scraper)
    right_name = hmac.compare_digest(known["username"].encode(), username.encode())
    right_password = hmac.compare_digest(known["password"].encode(), password.encode())
    return right_name and right_password


def _credentials(scraper: Integration) -> Mapping[str, Any]:
    """The stored credentials; matching nobody if they cannot be decrypted, which is logged."""
    try:
        return integration_values(scraper)
    except CannotDecryptError as error:
        logger.error("the scraper of project %s cannot authenticate: %s", scraper.group_id, error)
        return _NOBODY
