"""Whose signals were evaluated when."""

from django.db import models


class EvaluationTurn(models.Model):
    """When a project's signals were last evaluated: the project that waited longest is next.

    One row for each project, and one, with an empty `group_id`, for what happened without a project.
    """

    group_id = models.CharField(max_length=24, primary_key=True, db_collation="C")
    served = models.DateTimeField()

    def __str__(self) -> str:
        return self.group_id
