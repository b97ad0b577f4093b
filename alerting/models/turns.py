"""Evaluation turns of projects."""

from django.db import models


class EvaluationTurn(models.Model):
    """The last evaluation of a project's signals. The project that has waited longest is next.

    A row per project, and a row with an empty `group_id` for events without a project.
    """

    group_id = models.CharField(max_length=24, primary_key=True, db_collation="C")
    served = models.DateTimeField()

    def __str__(self) -> str:
        return self.group_id
