"""HTTP Digest authentication for DRF (RFC 7616 and RFC 2617).

`accesslist.digest.rules` has the arithmetic and the nonces. All wrong credentials get the same 401.
"""

import hashlib
import logging
import os
from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accesslist.access_lists.rules import verdict
from accesslist.digest import rules as digest
from accesslist.digest.store import (
    CallerRecord,
    begin_remembering,
    note_use,
    read_caller,
    remember_from,
    use_nonce,
)
from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.principal import KeyPrincipal
from accesslist.throttles import throttle
from opsapi import clock
from opsapi.api.addresses import client_address, counted_range, is_exempt, is_forwarded, remote_address
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.encryption import CannotDecryptError, decrypt, encrypt, newest_key

logger = logging.getLogger("opsapi.authentication")

_DUMMY_OWNER = "no key"
_LONGEST_SHOWN_URI = 300
# Set on a request that has used its nonce. If the middleware repeats the request (`opsapi.api.middleware`),
# it is not a replay.
_USED_NONCE = "used_nonce"


@lru_cache(maxsize=4)
def nonce_key(secret: str) -> bytes:
    """The key that signs nonces; equal on all machines that share the secret."""
    return hashlib.sha256(b"opsapi digest nonces\0" + secret.encode()).digest()


@lru_cache(maxsize=4)
def _dummy_ha1(_key: str) -> str:  # One per encryption key, so that it is decrypted like a real HA1.
    """An encrypted HA1 of an unknown password: checking an unknown key takes as long as a known key."""
    return encrypt(os.urandom(16).hex(), owner=_DUMMY_OWNER)


class DigestAuthentication(BaseAuthentication):
    """Return (actor, principal), or raise the 401, the 403 of the access list or the 429."""

    def authenticate(self, request: Request) -> tuple[object, KeyPrincipal]:
        """Check the credentials of the request against the key.

        Raises:
            ApiError: UNAUTHORIZED with a fresh challenge, INVALID_AUTHORIZATION_URI, RATE_LIMITED,
                IP_ADDRESS_NOT_ON_ACCESS_LIST.
        """
        http_request: HttpRequest = request._request
        now = clock.now()
        address = remote_address(http_request)
        try:
            credentials = digest.parse(http_request.headers.get("Authorization", ""))
        except digest.MalformedCredentials:
            raise refused(http_request, now, FailedAuthentication.MALFORMED) from None
        group_id = request.parser_context["kwargs"].get("group_id")
        record = read_caller(
            public_key=_storable(credentials.username),
            address=address,
            group_id=_storable(group_id) if group_id else None,
            now=now,
        )
        if not _proves_the_key(credentials, record, http_request.method or ""):
            raise refused(http_request, now, FailedAuthentication.WRONG_CREDENTIALS)
        _refuse_other_uri(credentials, http_request)
        if not hasattr(http_request, _USED_NONCE):
            _refuse_invalid_nonce(credentials, record, now)
            setattr(http_request, _USED_NONCE, True)
        is_exempt_caller = is_exempt(address) and not is_forwarded(http_request)
        principal = KeyPrincipal(record, credentials.username, address, is_exempt=is_exempt_caller)
        http_request.actor_name = credentials.username  # type: ignore[attr-defined]  # read by the request log
        _check_access_lists(principal, record)
        _note_use(principal, record, now)
        return principal.actor(), principal


def unauthorized(now: datetime, *, stale: bool = False) -> ApiError:
    """The one 401, with a fresh nonce."""
    nonce = digest.mint_nonce(nonce_key(settings.SECRET_KEY), now)
    return ApiError(
        ErrorCode.UNAUTHORIZED,
        headers={"WWW-Authenticate": digest.challenge(digest.REALM, nonce, stale=stale)},
    )


def refused(request: HttpRequest, now: datetime, reason: FailedAuthentication) -> ApiError:
    """The 401 for wrong credentials, which counts as an attempt. A request without credentials does not.

    Raises:
        ApiError: RATE_LIMITED instead, when the address sent wrong credentials too often.
    """
    if "Authorization" in request.headers:
        bucket = f"auth {counted_range(client_address(request))}"
        try:
            throttle(bucket, settings.OPSAPI_RATE_FAILED_AUTH, now)
        except ApiError:
            count_failure(FailedAuthentication.THROTTLED)
            raise
        count_failure(reason)
    return unauthorized(now)


def _proves_the_key(credentials: digest.DigestCredentials, record: CallerRecord, method: str) -> bool:
    """Whether the response is correct for its own URI. The check takes the same time for an unknown key."""
    ha1 = _ha1(credentials, record)
    right = digest.verify(credentials, ha1 or _dummy(), method)
    return right and credentials.realm == digest.REALM and ha1 is not None


def _refuse_other_uri(credentials: digest.DigestCredentials, request: HttpRequest) -> None:
    """Refuse a correct response for a different URI (RFC 7616 3.4.6). The nonce stays unused.

    Only a caller with the key can cause this error. So the error reveals nothing, and it does not count as an
    attempt to guess a key.

    Raises: ApiError: INVALID_AUTHORIZATION_URI.
    """
    target = request.META.get("RAW_URI") or request.get_full_path()
    if credentials.uri != target:
        count_failure(FailedAuthentication.OTHER_URI)
        uris = (text[:_LONGEST_SHOWN_URI] for text in (credentials.uri, target))
        raise ApiError(ErrorCode.INVALID_AUTHORIZATION_URI, *uris)


def _ha1(credentials: digest.DigestCredentials, record: CallerRecord) -> str | None:
    """The HA1 of the key; None if the key is unknown or its secret cannot be decrypted, which is logged."""
    if record.encrypted_ha1 is None or record.key_id is None:
        return None
    try:
        return decrypt(record.encrypted_ha1, owner=record.key_id)
    except CannotDecryptError as error:
        logger.error("API key %s cannot authenticate: %s", credentials.username, error)
        return None


def _dummy() -> str:
    """A random HA1, decrypted like a real one."""
    return decrypt(_dummy_ha1(newest_key()), owner=_DUMMY_OWNER)


def _refuse_invalid_nonce(credentials: digest.DigestCredentials, record: CallerRecord, now: datetime) -> None:
    """Challenge a client whose response is right but whose nonce is expired, used or unknown.

    RFC 7616 3.3: stale=true means that the digest is right and the nonce is not valid. This reveals nothing:
    a wrong response never gets here and always counts as an attempt.
    """
    since = record.nonces_since or begin_remembering(now)
    if since > now + digest.NONCE_SKEW:
        since = remember_from(now)
    is_valid = digest.is_valid_nonce(credentials.nonce, nonce_key(settings.SECRET_KEY), now, not_before=since)
    if not is_valid or not use_nonce(credentials.nonce, credentials.nc, now):
        # Another request may have started the memory after this one arrived.
        raise unauthorized(max(now, since), stale=True)


def _check_access_lists(principal: KeyPrincipal, record: CallerRecord) -> None:
    result = verdict(
        is_exempt=principal.is_exempt,
        is_global=principal.is_global,
        global_refuses=record.global_list.refuses,
        own_refuses=record.own_list.refuses,
    )
    if result.refuses:
        count_failure(FailedAuthentication.REFUSED_ADDRESS)
        address = principal.actor().remote_address or "unknown"
        raise ApiError(ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST, address, result.value)


def _note_use(principal: KeyPrincipal, record: CallerRecord, now: datetime) -> None:
    """Most requests come within a minute of the last one and write nothing."""
    caller = principal.actor()
    due = record.own_list.use_due or (principal.is_global and record.global_list.use_due)
    if due and caller.id and caller.remote_address:
        note_use(key_id=caller.id, address=caller.remote_address, in_global_list=principal.is_global, now=now)


def _storable(text: str) -> str:
    """Text that PostgreSQL can compare: a NUL, which matches nothing, becomes another unusual character."""
    return text.replace("\0", "\ufffd")
