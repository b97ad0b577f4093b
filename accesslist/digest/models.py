"""Used nonces, and the start of their memory."""

from django.db import models

from opsapi.clock import time_words


class DigestUse(models.Model):
    """A used (nonce, nc): a second use is a replay. UNLOGGED (migration 0002); rows live for minutes.

    An unlogged table must not own a sequence: on a promoted standby the sequence would be broken.
    """

    pk = models.CompositePrimaryKey("nonce", "nc")
    nonce = models.CharField(max_length=32, db_collation="C")
    nc = models.CharField(max_length=8, db_collation="C")
    used = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.nonce}:{self.nc}"


class DigestEpoch(models.Model):
    """Start of the memory of used nonces. UNLOGGED (migration 0003).

    A crash or a failover empties both tables; nonces from before this row are stale.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    started = models.DateTimeField()

    def __str__(self) -> str:
        return time_words(self.started)
