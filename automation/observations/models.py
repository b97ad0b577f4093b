"""Observations of members of replica sets by their agents."""

from django.db import models

from accesslist.models import Project
from automation.sections import LONGEST_PROCESS_NAME, LONGEST_SET_NAME


class MemberObservation(models.Model):
    """The newest observation of a process by its agent, for the agents of the other members of its set."""

    id = models.BigAutoField(primary_key=True)
    # Not indexed: the indexes below start with the project.
    group = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="member_observations",
        verbose_name="project",
        db_index=False,
    )
    replica_set = models.CharField(max_length=LONGEST_SET_NAME)
    process = models.CharField(max_length=LONGEST_PROCESS_NAME)
    hostname = models.CharField(max_length=253, help_text="Of the agent, in lower case.")
    goal_version = models.PositiveIntegerField()
    observed = models.DateTimeField()
    document = models.JSONField(help_text="The observation, as in the API.")

    class Meta:
        constraints = [models.UniqueConstraint(name="member_observation_once", fields=["group", "process"])]
        indexes = [models.Index(name="member_observation_of_set", fields=["group", "replica_set"])]

    def __str__(self) -> str:
        return self.process
