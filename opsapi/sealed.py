"""The sealed columns of the database, and whether the configured keys open what stands there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models.functions import Left

from opsapi.encryption import KEY_ID_LENGTH, known_key_ids
from opsapi.fields import SealedField


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """One of them; as text it is `<app>.<model>.<field>`."""

    model: type[models.Model]
    name: str

    def __str__(self) -> str:
        return f"{self.model._meta.label}.{self.name}"

    def rows(self) -> models.QuerySet[Any, Any]:
        """Those with a value, also what the model's own manager hides."""
        return self.model._base_manager.exclude(**{self.name: None})

    def count_without_key(self) -> int:
        """How many values a key sealed that is not configured; none is opened for it."""
        by_key = self.rows().annotate(key_id=Left(self.name, KEY_ID_LENGTH))
        count: int = by_key.exclude(key_id__in=known_key_ids()).count()
        return count


def sealed_columns() -> Iterator[SealedColumn]:
    """All of them."""
    for model in apps.get_models():
        for field in model._meta.get_fields():
            if isinstance(field, SealedField):
                yield SealedColumn(model, field.name)
