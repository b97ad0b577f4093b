"""`manage.py rotate_encryption`: encrypts every stored secret with the newest key."""

from collections import Counter
from enum import Enum, auto
from typing import Any

from django.core.management.base import CommandError
from django.db import models, transaction

from opsapi.encrypted_columns import EncryptedColumn, encrypted_columns
from opsapi.encryption import CannotDecryptError, decrypt, encrypt, is_current
from opsapi.management.database_command import DatabaseCommand

ROWS_AT_ONCE = 20
"""Number of rows in memory and locked at a time: a row may contain a document of 16 MiB."""


class Result(Enum):
    """What happened to a value; CURRENT values already use the newest key."""

    CURRENT = auto()
    ENCRYPTED_AGAIN = auto()
    UNREADABLE = auto()


class Command(DatabaseCommand):
    """Run it after you put a new key first in OPSAPI_ENCRYPTION_KEYS; then you can remove the old key."""

    help = (
        "Encrypt all stored secrets again with the first key of OPSAPI_ENCRYPTION_KEYS. The "
        "platform can keep running."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Encrypt every secret column again; a value that no configured key decrypts stays unchanged.

        Raises CommandError, one line, if there are such values: they need the missing key.
        """
        unreadable = {column: self._encrypt_again(column) for column in encrypted_columns()}
        if any(unreadable.values()):
            where = ", ".join(f"{column}: {count}" for column, count in unreadable.items() if count)
            raise CommandError(
                f"values that no key in OPSAPI_ENCRYPTION_KEYS decrypts were left unchanged ({where})"
            )

    def _encrypt_again(self, column: EncryptedColumn) -> int:
        """Encrypt a column again; return the number of values that no key decrypts."""
        results = _encrypt_column_again(column)
        self.stdout.write(f"{column}: {results[Result.ENCRYPTED_AGAIN]} encrypted again")
        return results[Result.UNREADABLE]


def _encrypt_column_again(column: EncryptedColumn) -> Counter[Result]:
    results: Counter[Result] = Counter()
    last = ""
    rows = column.rows().order_by("pk")
    while keys := list(rows.filter(pk__gt=last).values_list("pk", flat=True)[:ROWS_AT_ONCE]):
        with transaction.atomic():
            batch = rows.only(column.name).select_for_update().filter(pk__in=keys)
            results.update(_encrypt_value_again(row, column.name) for row in batch)
        last = keys[-1]
    return results


def _encrypt_value_again(row: models.Model, name: str) -> Result:
    encrypted, owner = getattr(row, name), str(row.pk)
    if is_current(encrypted):
        return Result.CURRENT
    try:
        secret = decrypt(encrypted, owner=owner)
    except CannotDecryptError:
        return Result.UNREADABLE
    setattr(row, name, encrypt(secret, owner=owner))
    row.save(update_fields=[name])
    return Result.ENCRYPTED_AGAIN
