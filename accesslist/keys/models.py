"""API keys."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from opsapi.fields import EncryptedField, PrimaryIdField
from opsapi.hostnames import LONGEST_NAME


class ApiKey(models.Model):
    """An API key for scripts. Of the private key, only the encrypted HA1 for digest is stored."""

    id = PrimaryIdField()
    desc = models.CharField(max_length=250)
    public_key = models.CharField(max_length=6, unique=True, db_collation="C")
    ha1 = EncryptedField()
    private_last4 = models.CharField(max_length=4)
    created = models.DateTimeField()
    hostnames = ArrayField(
        models.CharField(max_length=LONGEST_NAME),
        null=True,
        help_text="The names of the machine of an agent, in lower case. The key is for no other machine.",
    )
    revocations = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.public_key} ({self.desc})"
