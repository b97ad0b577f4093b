"""Second factors."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accesslist.login.rules import NEVER
from accesslist.users.models import User
from opsapi.fields import EncryptedField, PrimaryIdField


class SecondFactor(models.Model):
    """The second factor of a user: time-based codes (RFC 6238) or single-use recovery codes.

    Without `confirmed` the setup is not complete, and no code is required.
    """

    id = PrimaryIdField()
    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    secret = EncryptedField()
    confirmed = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=NEVER)
    recovery_hashes = ArrayField(models.CharField(max_length=64), default=list)
    created = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.user)
