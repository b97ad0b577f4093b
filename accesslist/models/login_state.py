"""Short-term memory of authentication: used nonces and counted attempts, in UNLOGGED tables."""

from django.db import models

from opsapi.clock import time_words


class DigestUse(models.Model):
    """A used (nonce, nc): a second use is a replay. UNLOGGED (migration 0002); rows live for minutes."""

    id = models.BigAutoField(primary_key=True)
    nonce = models.CharField(max_length=32, db_collation="C")
    nc = models.CharField(max_length=8, db_collation="C")
    used = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="digest_use_once", fields=["nonce", "nc"])]

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


class RateWindow(models.Model):
    """Number of attempts in the current window. UNLOGGED (migration 0002)."""

    bucket = models.CharField(max_length=200, primary_key=True, db_collation="C")
    started = models.DateTimeField()
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.bucket}: {self.count}"
