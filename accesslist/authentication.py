"""HTTP Digest for DRF (RFC 7616 and RFC 2617).

`accesslist.digest` does the arithmetic and `accesslist.nonces` keeps the nonces; this module checks a request
with both. Whatever is wrong with the credentials, the answer is the same 401.
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

from accesslist import digest, nonces
from accesslist.credentials import CallerRecord, begin_remembering, note_use, read_caller, use_nonce
from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.principal import KeyPrincipal
from accesslist.rules.reaching import verdict
from accesslist.throttles import throttle
from opsapi import clock
from opsapi.api.addresses import client_address, counted_range, is_exempt, is_forwarded
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.encryption import CannotDecryptError, decrypt, encrypt, newest_key

logger = logging.getLogger("opsapi.authentication")

_DUMMY_OWNER = "no key"
# Set on a request that used its nonce: begun anew (`opsapi.api.middleware`), it is no replay.
_USED_NONCE = "used_nonce"


@lru_cache(maxsize=4)
def nonce_key(secret: str) -> bytes:
    """The key nonces are signed with, the same on every machine that shares the secret."""
    return hashlib.sha256(b"opsapi digest nonces\0" + secret.encode()).digest()


@lru_cache(maxsize=4)
def _dummy_ha1(_key: str) -> str:  # one per encryption key, so that it can be opened like a real one
    """A sealed HA1 nobody knows the password of: an unknown key costs what a known one costs."""
    return encrypt(os.urandom(16).hex(), owner=_DUMMY_OWNER)


class DigestAuthentication(BaseAuthentication):
    """Answers (actor, principal) or raises the 401, the 403 of the access list, or the 429 of wrong tries."""

    def authenticate(self, request: Request) -> tuple[object, KeyPrincipal]:
        """Hold the request's credentials against the key they name.

        Raises:
            ApiError: UNAUTHORIZED with a fresh challenge, RATE_LIMITED, IP_ADDRESS_NOT_ON_ACCESS_LIST.
        """
        http_request: HttpRequest = request._request
        now = clock.now()
        address = client_address(http_request)
        try:
            credentials = digest.parse(http_request.headers.get("Authorization", ""))
        except digest.MalformedCredentials:
            raise refused(http_request, now, FailedAuthentication.MALFORMED) from None
        group_id = request.parser_context["kwargs"].get("group_id")
        record = read_caller(
            public_key=_storable(credentials.username),
            address=str(address) if address else None,
            group_id=_storable(group_id) if group_id else None,
            now=now,
        )
        if not _proves_the_key(credentials, record, http_request):
            raise refused(http_request, now, FailedAuthentication.WRONG_CREDENTIALS)
        if not hasattr(http_request, _USED_NONCE):
            _refuse_invalid_nonce(credentials, record, now)
            setattr(http_request, _USED_NONCE, True)
        principal = KeyPrincipal(
            record,
            credentials.username,
            str(address) if address else None,
            is_exempt=is_exempt(address) and not is_forwarded(http_request),
        )
        http_request.actor_name = credentials.username  # type: ignore[attr-defined]  # read by the request log
        _check_access_lists(principal, record)
        _note_use(principal, record, now)
        return principal.actor(), principal


def unauthorized(now: datetime, *, stale: bool = False) -> ApiError:
    """The one 401, with a fresh nonce."""
    nonce = nonces.mint(nonce_key(settings.SECRET_KEY), now)
    return ApiError(
        ErrorCode.UNAUTHORIZED,
        headers={"WWW-Authenticate": digest.challenge(digest.REALM, nonce, stale=stale)},
    )


def refused(request: HttpRequest, now: datetime, reason: FailedAuthentication) -> ApiError:
    """The 401 of wrong credentials, which count. A request without credentials is no attempt.

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


def _proves_the_key(credentials: digest.Credentials, record: CallerRecord, request: HttpRequest) -> bool:
    """Whether the response is right and meant for this request; the same work for an unknown key."""
    ha1 = _ha1(credentials, record)
    right = digest.verify(credentials, ha1 or _dummy(), request.method or "")
    target = request.META.get("RAW_URI") or request.get_full_path()
    meant = credentials.uri == target and credentials.realm == digest.REALM
    return right and meant and ha1 is not None


def _ha1(credentials: digest.Credentials, record: CallerRecord) -> str | None:
    """The key's; None for an unknown one, and for one that cannot be read, which operators are to know."""
    if record.sealed_ha1 is None or record.key_id is None:
        return None
    try:
        return decrypt(record.sealed_ha1, owner=record.key_id)
    except CannotDecryptError as error:
        logger.error("API key %s cannot authenticate: %s", credentials.username, error)
        return None


def _dummy() -> str:
    """One that nobody knows the password of, opened like a real one."""
    return decrypt(_dummy_ha1(newest_key()), owner=_DUMMY_OWNER)


def _refuse_invalid_nonce(credentials: digest.Credentials, record: CallerRecord, now: datetime) -> None:
    """Who proved the key with a nonce that is expired, used or none of ours, tries again with a new one.

    RFC 7616 3.3: stale=true where the digest is right and the nonce is not valid. It tells nothing that a
    nonce of ours would not: a wrong response never comes here, and counts, whatever its nonce.
    """
    since = record.remembered_since or begin_remembering(now)
    is_valid = nonces.is_valid(credentials.nonce, nonce_key(settings.SECRET_KEY), now, not_before=since)
    if not is_valid or not use_nonce(credentials.nonce, credentials.nc, now):
        # Another request may have begun the memory, and later than this one came.
        raise unauthorized(max(now, since), stale=True)


def _check_access_lists(principal: KeyPrincipal, record: CallerRecord) -> None:
    told = verdict(
        is_exempt=principal.is_exempt,
        is_global=principal.is_global,
        global_refuses=record.global_list.refuses,
        own_refuses=record.own_list.refuses,
    )
    if told.refuses:
        count_failure(FailedAuthentication.REFUSED_ADDRESS)
        shown = principal.actor().remote_address or "unknown"
        raise ApiError(ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST, shown, told.value)


def _note_use(principal: KeyPrincipal, record: CallerRecord, now: datetime) -> None:
    """Most requests come within a minute of the last one, and write nothing."""
    caller = principal.actor()
    due = record.own_list.use_due or (principal.is_global and record.global_list.use_due)
    if due and caller.id and caller.remote_address:
        note_use(key_id=caller.id, address=caller.remote_address, in_global_list=principal.is_global, now=now)


def _storable(text: str) -> str:
    """Text PostgreSQL can compare: a NUL matches nothing, so it may as well be another odd character."""
    return text.replace("\0", "\ufffd")
