"""Receivers that do not answer."""

from django.db import models


class FailingReceiver(models.Model):
    """A receiver whose last attempts all failed; the first it answers takes the row away (decisions 7)."""

    key = models.CharField(max_length=400, primary_key=True, db_collation="C")
    failures = models.PositiveIntegerField(help_text="Attempts in a row.")
    next_try = models.DateTimeField(help_text="It is not tried before.")
    updated = models.DateTimeField()

    class Meta:
        # Those nobody has tried for long, which are forgotten.
        indexes = [models.Index(fields=["updated"], name="failing_receiver_updated")]

    def __str__(self) -> str:
        return f"{self.key}: {self.failures}"
