"""HTTP Digest for DRF (contract 5, decisions 1 "401", decisions 3 "enforcement").

The arithmetic is `accesslist.digest`, the nonces are `accesslist.nonces`; here a request is held
against them. Whatever is wrong with the credentials, the answer is the same 401.
"""

import hashlib
import os
from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accesslist import digest, nonces
from accesslist.credentials import CallerRecord, begin_remembering, read_caller, use_nonce
from accesslist.nonces import NonceVerdict
from accesslist.principal import KeyPrincipal
from opsapi import clock
from opsapi.api.addresses import Address, client_address, is_forwarded
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.encryption import decrypt, encrypt

_DUMMY_OWNER = "no key"


@lru_cache(maxsize=4)
def nonce_key(secret: str) -> bytes:
    """The key nonces are signed with, the same on every machine that shares the secret."""
    return hashlib.sha256(b"opsapi digest nonces\0" + secret.encode()).digest()


@lru_cache(maxsize=4)
def _dummy_ha1(_key: str) -> str:  # one per encryption key, so that it can be opened like a real one
    """A sealed HA1 nobody knows the password of: an unknown key costs what a known one costs."""
    return encrypt(os.urandom(16).hex(), owner=_DUMMY_OWNER)


class DigestAuthentication(BaseAuthentication):
    """Answers (actor, principal) or raises the 401 or the 403 of the access list."""

    def authenticate(self, request: Request) -> tuple[object, KeyPrincipal]:
        """Hold the request's credentials against the key they name.

        Raises:
            ApiError: UNAUTHORIZED with a fresh challenge, IP_ADDRESS_NOT_ON_ACCESS_LIST.
        """
        http_request: HttpRequest = request._request
        now = clock.now()
        try:
            credentials = digest.parse(http_request.headers.get("Authorization", ""))
        except digest.MalformedCredentials:
            raise unauthorized(now) from None
        address = client_address(http_request)
        group_id = request.parser_context["kwargs"].get("group_id")
        record = read_caller(
            public_key=_storable(credentials.username),
            address=str(address) if address else None,
            group_id=_storable(group_id) if group_id else None,
        )
        if not _proves_the_key(credentials, record, http_request):
            raise unauthorized(now)
        _refuse_used_nonce(credentials, record, now)
        principal = KeyPrincipal(record, credentials.username, str(address) if address else None)
        http_request.actor_name = credentials.username  # type: ignore[attr-defined]  # read by the request log
        _check_access_list(principal, record, address, http_request)
        return principal.actor(), principal


def unauthorized(now: datetime, *, stale: bool = False) -> ApiError:
    """The one 401, with a fresh nonce."""
    nonce = nonces.mint(nonce_key(settings.SECRET_KEY), now)
    return ApiError(
        ErrorCode.UNAUTHORIZED,
        headers={"WWW-Authenticate": digest.challenge(digest.REALM, nonce, stale=stale)},
    )


def _proves_the_key(credentials: digest.Credentials, record: CallerRecord, request: HttpRequest) -> bool:
    """Whether the response is right and meant for this request; the same work for an unknown key."""
    sealed, owner = record.sealed_ha1, record.key_id
    if sealed is None or owner is None:
        sealed, owner = _dummy_ha1(settings.OPSAPI_ENCRYPTION_KEYS[0]), _DUMMY_OWNER
    right = digest.verify(credentials, decrypt(sealed, owner=owner), request.method or "")
    target = request.META.get("RAW_URI") or request.get_full_path()
    meant = credentials.uri == target and credentials.realm == digest.REALM
    return right and meant and record.key_id is not None


def _refuse_used_nonce(credentials: digest.Credentials, record: CallerRecord, now: datetime) -> None:
    """A forged nonce is a plain 401; an expired or used one tells the client to try again with a new one."""
    if record.remembered_since is None:
        begin_remembering(now)
    verdict = nonces.check(
        credentials.nonce, nonce_key(settings.SECRET_KEY), now, not_before=record.remembered_since or now
    )
    if verdict is NonceVerdict.FORGED:
        raise unauthorized(now)
    if verdict is NonceVerdict.EXPIRED or not use_nonce(credentials.nonce, credentials.nc, now):
        raise unauthorized(now, stale=True)


def _check_access_list(
    principal: KeyPrincipal, record: CallerRecord, address: Address | None, request: HttpRequest
) -> None:
    if _is_exempt(address, request):
        return
    shown = str(address) if address else "unknown"
    if principal.is_global and record.has_global_list and not record.global_list_covers:
        raise ApiError(ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST, shown, "the global access list")
    if record.has_own_list and not record.own_list_covers:
        raise ApiError(ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST, shown, "the access list of the API key")


def _is_exempt(address: Address | None, request: HttpRequest) -> bool:
    if address is None or is_forwarded(request):
        return False
    return any(address in network for network in settings.OPSAPI_ACCESS_LIST_EXEMPT)


def _storable(text: str) -> str:
    """Text PostgreSQL can compare: a NUL matches nothing, so it may as well be another odd character."""
    return text.replace("\0", "\ufffd")
