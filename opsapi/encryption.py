"""Secrets at rest: AES-256-GCM, bound to their row, with key rotation.

An encrypted text is `<key id>.<base64url(nonce ‖ ciphertext ‖ tag)>`. The first of `OPSAPI_ENCRYPTION_KEYS`
encrypts, all of them decrypt. `manage.py rotate_encryption` encrypts all texts again.
"""

import base64
import hashlib
import hmac
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from opsapi.program import COMMAND

_NONCE_BYTES = 12
KEY_ID_LENGTH = 8


class CannotDecryptError(Exception):
    """The text was encrypted with an unknown key, for another owner, or was tampered with."""


@lru_cache(maxsize=16)
def _cipher(key: str) -> tuple[str, AESGCM]:
    digest = hashlib.sha256(b"opsapi field encryption\0" + key.encode()).digest()
    return hashlib.sha256(digest).hexdigest()[:KEY_ID_LENGTH], AESGCM(digest)


def _signature(key: str, octets: bytes) -> str:
    derived = hashlib.sha256(b"opsapi backup manifest\0" + key.encode()).digest()
    return hmac.digest(derived, octets, "sha256").hex()


def newest_key() -> str:
    """Return the key for encryption. Raises ImproperlyConfigured: no key exists yet."""
    if not settings.OPSAPI_ENCRYPTION_KEYS:
        file = settings.OPSAPI_ENCRYPTION_KEY_FILE
        raise ImproperlyConfigured(f"{file}: is missing; {COMMAND} prepare creates it for a new installation")
    key: str = settings.OPSAPI_ENCRYPTION_KEYS[0]
    return key


def encrypt(plaintext: str, *, owner: str) -> str:
    """Encrypt a text for its owner (the ID of its row)."""
    key_id, cipher = _cipher(newest_key())
    nonce = os.urandom(_NONCE_BYTES)
    encrypted = nonce + cipher.encrypt(nonce, plaintext.encode(), owner.encode())
    return f"{key_id}.{base64.urlsafe_b64encode(encrypted).decode()}"


def decrypt(encrypted: str, *, owner: str) -> str:
    """Decrypt a text that `encrypt` created for the same owner.

    Raises: CannotDecryptError: see its docstring.
    """
    key_id, _, body = encrypted.partition(".")
    for known_id, cipher in map(_cipher, settings.OPSAPI_ENCRYPTION_KEYS):
        if known_id == key_id:
            try:
                raw = base64.urlsafe_b64decode(body)
                return cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], owner.encode()).decode()
            except (InvalidTag, ValueError):  # ValueError: the text is too short, or not base64.
                break
    raise CannotDecryptError(f"an encrypted value of {owner} cannot be opened with the configured keys")


def known_key_ids() -> list[str]:
    """Return the prefixes of texts encrypted with the configured keys, KEY_ID_LENGTH characters each."""
    return [_cipher(key)[0] for key in settings.OPSAPI_ENCRYPTION_KEYS]


def is_current(encrypted: str) -> bool:
    """Whether the text is encrypted with the newest key."""
    return encrypted.partition(".")[0] == _cipher(newest_key())[0]


def sign(octets: bytes) -> tuple[str, str]:
    """Return the id of the newest key, and the HMAC-SHA256 of the octets with a key derived from it, in hex.

    Raises: ImproperlyConfigured: no key exists yet.
    """
    key = newest_key()
    return _cipher(key)[0], _signature(key, octets)


def is_signed(octets: bytes, *, key_id: str, hmac_hex: str) -> bool:
    """Whether a configured key with this id signed the octets; compares in constant time."""
    keys = [key for key in settings.OPSAPI_ENCRYPTION_KEYS if _cipher(key)[0] == key_id]
    return any(hmac.compare_digest(_signature(key, octets).encode(), hmac_hex.encode()) for key in keys)
