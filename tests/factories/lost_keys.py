"""Values that were encrypted with an encryption key nobody has any more."""

from django.db import models

from opsapi.encrypted_columns import encrypted_columns

LOST_KEY_ID = "0" * 8


def lose_key(*owners: type[models.Model]) -> None:
    """Leave every encrypted value of these models as if its key had gone."""
    for column in encrypted_columns():
        if column.model in owners:
            column.rows().update(**{column.name: f"{LOST_KEY_ID}.c2VhbGVk"})
