"""Workers."""

from django.db import models


class WorkerHeartbeat(models.Model):
    """When a worker was last seen. The installation is ready if a worker was seen within the last minute."""

    name = models.CharField(max_length=200, primary_key=True)
    seen = models.DateTimeField()

    class Meta:
        verbose_name = "worker"

    def __str__(self) -> str:
        return self.name
