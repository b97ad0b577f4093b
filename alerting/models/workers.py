"""Workers: when each was last seen, and whose signals they evaluated when."""

from django.db import models


class WorkerHeartbeat(models.Model):
    """When a worker was last seen. The installation is ready if a worker was seen within the last minute."""

    name = models.CharField(max_length=200, primary_key=True)
    seen = models.DateTimeField()

    class Meta:
        verbose_name = "worker"

    def __str__(self) -> str:
        return self.name


class EvaluationTurn(models.Model):
    """When a project's signals were last evaluated: the project that waited longest is next.

    One row for each project, and one, with an empty `group_id`, for what happened without a project.
    """

    group_id = models.CharField(max_length=24, primary_key=True, db_collation="C")
    served = models.DateTimeField()

    def __str__(self) -> str:
        return self.group_id
