"""`manage.py rotate_encryption`: seals every stored secret with the newest key (product, "settings")."""

from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand
from django.db import models, transaction

from opsapi.encryption import decrypt, encrypt, is_current
from opsapi.fields import SealedField

ROWS_AT_ONCE = 20
"""So many rows are in memory and locked at a time: one may hold a document of 16 MiB."""


class Command(BaseCommand):
    """Run after a new key was put first in OPSAPI_ENCRYPTION_KEYS; the old one can go afterwards."""

    help = "Seal every stored secret with the first of OPSAPI_ENCRYPTION_KEYS; may run while all else does."

    def handle(self, *args: Any, **options: Any) -> None:
        """Go through every sealed column; a value no configured key opens ends the run, naming its row."""
        for model in apps.get_models():
            for field in model._meta.get_fields():
                if isinstance(field, SealedField):
                    resealed = _reseal(model, field.name)
                    self.stdout.write(f"{model._meta.label}.{field.name}: {resealed} sealed anew")


def _reseal(model: type[models.Model], name: str) -> int:
    count, last = 0, ""
    rows = model._base_manager.exclude(**{name: None}).order_by("pk")
    while keys := list(rows.filter(pk__gt=last).values_list("pk", flat=True)[:ROWS_AT_ONCE]):
        with transaction.atomic():
            batch = rows.only(name).select_for_update().filter(pk__in=keys)
            count += sum(_reseal_row(row, name) for row in batch)
        last = keys[-1]
    return count


def _reseal_row(row: models.Model, name: str) -> bool:
    sealed = getattr(row, name)
    if is_current(sealed):
        return False
    owner = str(row.pk)
    setattr(row, name, encrypt(decrypt(sealed, owner=owner), owner=owner))
    row.save(update_fields=[name])
    return True
