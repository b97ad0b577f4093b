"""Pauses of plans, turns of agents, moves that wait, and the versions that agents have fetched."""

from django.db import models
from django.db.models import Q

from accesslist.models import Project
from automation.sections import LONGEST_PROCESS_NAME, LONGEST_SET_NAME
from automation.turns.rules import LONGEST_KEY, TurnState
from opsapi.api.principal import ActorKind
from opsapi.clock import time_words
from opsapi.fields import OptionalIdField, PrimaryIdField


class PausedPlan(models.Model):
    """The pause of a project's plan: a project whose plan is not paused has no row.

    Who paused it is plain text without foreign keys: a pause outlives keys and users.
    """

    id = PrimaryIdField()
    group = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="paused_plan", verbose_name="project"
    )
    since = models.DateTimeField()
    actor_kind = models.CharField(max_length=6, choices=[(kind.value, kind.value) for kind in ActorKind])
    actor_id = OptionalIdField()
    actor_name = models.CharField(max_length=254, null=True)

    def __str__(self) -> str:
        return f"since {time_words(self.since)}"


class PlanTurn(models.Model):
    """The right of the agent of a process to make a move, until `expires`: a unit has one at a time.

    `unit` identifies the processes that are planned together (`automation.turns.rules.unit_key`). Process and
    move are plain text: turns outlive documents. `until`: when the time of the move has passed. A turn that
    expired with a reason was given back before its move began.
    """

    id = PrimaryIdField()
    # Not indexed: the indexes below start with the project.
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="plan_turns", verbose_name="project", db_index=False
    )
    unit = models.CharField(max_length=LONGEST_KEY)
    replica_set = models.CharField(max_length=LONGEST_SET_NAME, default="")
    process = models.CharField(max_length=LONGEST_PROCESS_NAME)
    hostname = models.CharField(max_length=253, help_text="Of the agent.")
    host_id = OptionalIdField(help_text="The host of the process.")
    other_host_ids = models.JSONField(
        null=True,
        help_text="Other hosts of the process: it can be reported at its alias and at its host name.",
    )
    move = models.CharField(max_length=20)
    step = models.CharField(max_length=200, null=True)
    goal_version = models.PositiveIntegerField()
    request_id = models.CharField(max_length=64)
    fence = models.BigIntegerField()
    granted = models.DateTimeField()
    expires = models.DateTimeField()
    until = models.DateTimeField()
    state = models.CharField(
        max_length=7,
        choices=[(state.value, state.value) for state in TurnState],
        default=TurnState.HELD.value,
    )
    ended = models.DateTimeField(null=True)
    reason = models.TextField(null=True, help_text="Why the move failed.")
    cleared = models.DateTimeField(
        null=True,
        help_text="When somebody resumed the plan, or published another document, after the move had failed.",
    )

    class Meta:
        constraints = [
            # Only one of two concurrent requests gets the turn.
            models.UniqueConstraint(name="turn_once", fields=["group", "unit"], condition=Q(ended=None)),
            # Finds the turn of a repeated request.
            models.UniqueConstraint(name="turn_request_once", fields=["group", "request_id"]),
            # Finds the newest turn of a unit.
            models.UniqueConstraint(name="turn_fence_once", fields=["group", "unit", "fence"]),
        ]

    def __str__(self) -> str:
        return f"{self.process} {self.move}"


class WaitingMove(models.Model):
    """A move whose agent asked for the turn and did not get it.

    `since`: when the reason was first the newest one. `began`: when the agent first asked for this move,
    later by the time in which another turn of its unit was held.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="waiting_moves",
        verbose_name="project",
        db_index=False,
    )
    process = models.CharField(max_length=LONGEST_PROCESS_NAME)
    replica_set = models.CharField(max_length=LONGEST_SET_NAME, default="")
    host_id = OptionalIdField()
    move = models.CharField(max_length=20)
    reason = models.CharField(max_length=40)
    names = models.JSONField(default=dict, help_text="The names in the sentence of the reason.")
    since = models.DateTimeField()
    began = models.DateTimeField()
    asked = models.DateTimeField()
    alerted = models.BooleanField(default=False, help_text="AUTOMATION_PLAN_WAITING was recorded.")

    class Meta:
        constraints = [models.UniqueConstraint(name="waiting_move_once", fields=["group", "process"])]

    def __str__(self) -> str:
        return f"{self.process} {self.move}"


class FetchedConfig(models.Model):
    """The version of the automation configuration that the agent of a machine has fetched last."""

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="fetched_configs",
        verbose_name="project",
        db_index=False,
    )
    hostname = models.CharField(max_length=253, help_text="In lower case.")
    version = models.PositiveIntegerField()
    fetched = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="fetched_config_once", fields=["group", "hostname"])]

    def __str__(self) -> str:
        return f"{self.hostname}: version {self.version}"
