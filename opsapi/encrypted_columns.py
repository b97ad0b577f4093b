"""The encrypted columns of the database, and whether the configured keys can decrypt their values."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection, models
from django.db.models.functions import Left

from opsapi.encryption import KEY_ID_LENGTH, known_key_ids
from opsapi.fields import EncryptedField


@dataclass(frozen=True, slots=True)
class EncryptedColumn:
    """An encrypted column, written as `<app>.<model>.<field>`."""

    model: type[models.Model]
    name: str

    def __str__(self) -> str:
        return f"{self.model._meta.label}.{self.name}"

    def rows(self) -> models.QuerySet[Any, Any]:
        """Return the rows with a value, including rows that the model's manager hides."""
        return self.model._base_manager.exclude(**{self.name: None})

    def count_without_key(self) -> int:
        """Return the number of values that an unknown key encrypted. No value is decrypted for this."""
        count: int = self._by_key().exclude(key_id__in=known_key_ids()).count()
        return count

    def has_values_of_known_keys(self) -> bool:
        """Whether a configured key encrypted any value. No value is decrypted for this."""
        return self._by_key().filter(key_id__in=known_key_ids()).exists()

    def key_ids(self) -> set[str]:
        """The ids of the keys that encrypted the values."""
        return set(self._by_key().values_list("key_id", flat=True).distinct())

    def _by_key(self) -> models.QuerySet[Any, Any]:
        rows: models.QuerySet[Any, Any] = self.rows().annotate(key_id=Left(self.name, KEY_ID_LENGTH))
        return rows


def encrypted_columns() -> Iterator[EncryptedColumn]:
    for model in apps.get_models():
        for field in model._meta.get_fields():
            if isinstance(field, EncryptedField):
                yield EncryptedColumn(model, field.name)


def used_key_ids() -> set[str]:
    """Return the ids of the keys that encrypted the values in the database; before migrations, too."""
    return {
        key_id for column in encrypted_columns() if _is_in_database(column) for key_id in column.key_ids()
    }


def is_key_lost() -> bool:
    """Whether there are encrypted values, but none with a configured key. Works before migrations, too."""
    filled = [column for column in encrypted_columns() if _is_in_database(column) and column.rows().exists()]
    return bool(filled) and not any(column.has_values_of_known_keys() for column in filled)


def _is_in_database(column: EncryptedColumn) -> bool:
    """Whether the column exists; a column of a newer version does not exist before its migration."""
    table = column.model._meta.db_table
    with connection.cursor() as cursor:
        if table not in connection.introspection.table_names(cursor):
            return False
        return column.name in {
            field.name for field in connection.introspection.get_table_description(cursor, table)
        }
