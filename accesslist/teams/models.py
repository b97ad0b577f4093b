"""Teams."""

from django.db import models

from accesslist.projects.models import Organization
from accesslist.users.models import User
from opsapi.fields import PrimaryIdField


class Team(models.Model):
    """Users of an organization who get roles in projects and alert notifications together."""

    id = PrimaryIdField()
    org = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="teams")
    name = models.CharField(max_length=200)
    members = models.ManyToManyField(User, related_name="teams")
    created = models.DateTimeField()

    class Meta:
        # The teams of an organization are listed in the order of creation.
        indexes = [models.Index(fields=["org", "created", "id"], name="team_org_created")]

    def __str__(self) -> str:
        return self.name
