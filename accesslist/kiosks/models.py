"""Kiosks."""

from django.db import models
from django.db.models import Q

from accesslist.projects.models import Organization, Project
from accesslist.users.models import User
from opsapi.fields import PrimaryIdField
from opsapi.roles import Scope


class Kiosk(models.Model):
    """An address that shows the state of a project or an organization on a screen, without a log-in.

    Of its token, only the hash is stored. It shows what its creator can read there: it ends with the roles of
    the creator, and at `expires`.
    """

    id = PrimaryIdField()
    desc = models.CharField("description", max_length=250)
    org = models.ForeignKey(
        Organization, null=True, on_delete=models.CASCADE, related_name="kiosks", verbose_name="organization"
    )
    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="kiosks")
    token_hash = models.CharField(max_length=64, editable=False)
    creator = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="kiosks", verbose_name="created by"
    )
    created = models.DateTimeField()
    expires = models.DateTimeField("valid until")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="kiosk_has_one_scope",
                condition=Q(org__isnull=False, project=None) | Q(org=None, project__isnull=False),
            ),
        ]
        indexes = [
            # Kiosks to be deleted.
            models.Index(fields=["expires"], name="kiosk_expires"),
        ]

    def __str__(self) -> str:
        return self.desc

    @property
    def scope(self) -> Scope:
        """The project or the organization; a project without its organization."""
        return Scope(self.org_id, self.project_id)

    @property
    def place(self) -> str:
        """The scope in words: `the project payments`."""
        return f"the project {self.project}" if self.project else f"the organization {self.org}"
