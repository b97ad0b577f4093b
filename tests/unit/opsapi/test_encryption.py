"""Secrets at rest: encrypted for one owner, opened with any configured key, encrypted with the newest."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from opsapi.encryption import (
    KEY_ID_LENGTH,
    CannotDecryptError,
    decrypt,
    encrypt,
    is_current,
    is_signed,
    known_key_ids,
    sign,
)
from tests.each import each

OWNER = "a" * 24


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_an_encrypted_text_is_decrypted_for_its_owner(plaintext: str) -> None:
    assert decrypt(encrypt(plaintext, owner=OWNER), owner=OWNER) == plaintext


def test_an_encrypted_text_reveals_nothing_and_never_repeats() -> None:
    encrypted = {encrypt("the secret", owner=OWNER) for _ in range(20)}
    assert len(encrypted) == 20
    assert not any("secret" in text for text in encrypted)


def test_another_owner_cannot_decrypt_it() -> None:
    encrypted = encrypt("the secret", owner=OWNER)
    with pytest.raises(CannotDecryptError, match="b" * 24):
        decrypt(encrypted, owner="b" * 24)


def test_a_changed_octet_is_noticed() -> None:
    key_id, _, body = encrypt("the secret", owner=OWNER).partition(".")
    raw = bytearray(base64.urlsafe_b64decode(body))
    raw[-1] ^= 1
    with pytest.raises(CannotDecryptError):
        decrypt(f"{key_id}.{base64.urlsafe_b64encode(bytes(raw)).decode()}", owner=OWNER)


def test_an_older_key_decrypts_and_the_newest_encrypts(settings: Settings) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = ["old"]
    before = encrypt("the secret", owner=OWNER)
    settings.OPSAPI_ENCRYPTION_KEYS = ["new", "old"]
    after = encrypt("the secret", owner=OWNER)
    assert decrypt(before, owner=OWNER) == decrypt(after, owner=OWNER) == "the secret"
    assert [is_current(before), is_current(after)] == [False, True]


def test_a_removed_key_decrypts_nothing(settings: Settings) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = ["old"]
    encrypted = encrypt("the secret", owner=OWNER)
    settings.OPSAPI_ENCRYPTION_KEYS = ["new"]
    with pytest.raises(CannotDecryptError):
        decrypt(encrypted, owner=OWNER)


@each("body", ["", "c2hvcnQ=", "no base64", "é"], ids=["empty", "short", "odd", "letters"])
def test_other_texts_are_not_decrypted(body: str) -> None:
    key_id, _, _ = encrypt("the secret", owner=OWNER).partition(".")
    with pytest.raises(CannotDecryptError):
        decrypt(f"{key_id}.{body}", owner=OWNER)


def test_an_encrypted_text_begins_with_its_key_id(settings: Settings) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = ["new", "old"]
    new, old = known_key_ids()
    assert len(new) == len(old) == KEY_ID_LENGTH
    assert encrypt("the secret", owner=OWNER).startswith(f"{new}.")


def test_a_signature_is_of_these_octets_and_of_a_configured_key(settings: Settings) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = ["old"]
    key_id, mac = sign(b"octets")
    settings.OPSAPI_ENCRYPTION_KEYS = ["new", "old"]
    assert is_signed(b"octets", key_id=key_id, hmac_hex=mac)
    assert not is_signed(b"other octets", key_id=key_id, hmac_hex=mac)
    assert not is_signed(b"octets", key_id=known_key_ids()[0], hmac_hex=mac)
    assert sign(b"octets")[0] == known_key_ids()[0] != key_id
    settings.OPSAPI_ENCRYPTION_KEYS = ["new"]
    assert not is_signed(b"octets", key_id=key_id, hmac_hex=mac)
