"""Signals: work for evaluation."""

from datetime import datetime

from django.db import models
from django.db.models.functions import Coalesce

from opsapi.fields import OptionalIdField


class Signal(models.Model):
    """The outbox: work for alerting, written in the transaction of the change.

    The worker deletes a signal in the transaction that applies its effects, so each signal is evaluated
    exactly once. Signals of a project are evaluated in the order of their ids, and so are signals without a
    project.
    """

    id = models.BigAutoField(primary_key=True)
    created = models.DateTimeField()
    group_id = OptionalIdField(help_text="Empty for events of an organization or the installation.")
    kind = models.CharField(max_length=16)
    payload = models.JSONField()
    number_of_hosts = models.PositiveSmallIntegerField(
        null=True,
        help_text="The number of hosts in the payload, 1 for other signals. With it, a turn reads only the "
        "payloads that it can evaluate.",
    )
    observed = models.DateTimeField(
        null=True, help_text="When the cause was observed, if this was before the signal was written."
    )
    held_by = OptionalIdField(
        help_text="ID of the agent whose other reports wait. The signal is evaluated after them."
    )
    agent_id = OptionalIdField(
        help_text="ID of the agent whose late report this is. The signal can end only alerts about hosts of "
        "this agent and their replica sets. Empty: it can end any alert of the project."
    )
    failed = models.DateTimeField(null=True, help_text="Evaluation failed; the signal was set aside.")

    class Meta:
        indexes = [
            # The oldest signals of a project, and the projects with signals.
            models.Index(
                fields=["group_id", "id"],
                name="signal_group_order",
                condition=models.Q(failed=None, held_by=None),
            ),
            # The earliest signal of a project. Alerts of the project open only if their delay ends before it.
            models.Index(
                "group_id",
                Coalesce("observed", "created"),
                name="signal_group_first",
                condition=models.Q(failed=None, agent_id=None),
            ),
            # The earliest signal of an agent's late reports, in the same way for alerts about its hosts.
            models.Index(
                "agent_id",
                Coalesce("observed", "created"),
                name="signal_agent_first",
                condition=models.Q(failed=None, agent_id__isnull=False),
            ),
            # Signals that wait for other reports of an agent.
            models.Index(
                "held_by",
                Coalesce("observed", "created"),
                name="signal_held",
                condition=models.Q(held_by__isnull=False),
            ),
            # Signals that could not be evaluated, until retention deletes them.
            models.Index(fields=["failed"], name="signal_failed", condition=models.Q(failed__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def seen(self) -> datetime:
        """When its cause was observed."""
        return self.observed or self.created
