"""Entries of access lists."""

from django.db import models
from django.db.models import Q

from accesslist.keys.models import ApiKey
from opsapi.fields import CidrField, PrimaryIdField


class AccessListEntry(models.Model):
    """A range of addresses that keys can call from: a single key, or all keys with a global role."""

    id = PrimaryIdField()
    api_key = models.ForeignKey(ApiKey, null=True, on_delete=models.CASCADE, related_name="access_list")
    cidr_block = CidrField()
    description = models.CharField(max_length=250, null=True)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    last_used = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "access lists"
        constraints = [
            models.UniqueConstraint(
                name="access_list_global_once", fields=["cidr_block"], condition=Q(api_key=None)
            ),
            models.UniqueConstraint(
                name="access_list_key_once",
                fields=["api_key", "cidr_block"],
                condition=Q(api_key__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.cidr_block)
