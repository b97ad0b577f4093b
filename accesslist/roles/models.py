"""Roles of keys, users and teams."""

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce

from opsapi.roles import ROLE_WORDS, Grant, Role, RoleWords, Scope


class RoleGrant(models.Model):
    """A role of a key, user or team: global, in an organization, or in a project."""

    id = models.BigAutoField(primary_key=True)
    role = models.CharField(max_length=40, choices=[(role.value, role.value) for role in Role])
    api_key = models.ForeignKey(
        "accesslist.ApiKey", null=True, on_delete=models.CASCADE, related_name="grants"
    )
    user = models.ForeignKey("accesslist.User", null=True, on_delete=models.CASCADE, related_name="grants")
    team = models.ForeignKey("accesslist.Team", null=True, on_delete=models.CASCADE, related_name="grants")
    org = models.ForeignKey(
        "accesslist.Organization", null=True, on_delete=models.CASCADE, related_name="grants"
    )
    project = models.ForeignKey(
        "accesslist.Project", null=True, on_delete=models.CASCADE, related_name="grants"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="grant_has_one_holder",
                condition=Q(api_key__isnull=False, user=None, team=None)
                | Q(api_key=None, user__isnull=False, team=None)
                | Q(api_key=None, user=None, team__isnull=False),
            ),
            models.CheckConstraint(
                name="grant_scope_fits_role",
                condition=Q(role__startswith="GLOBAL_", org=None, project=None)
                | Q(role__startswith="ORG_", org__isnull=False, project=None)
                | Q(role__startswith="GROUP_", org=None, project__isnull=False),
            ),
            # Absent values count as equal. NULLS NOT DISTINCT needs PostgreSQL 15.
            models.UniqueConstraint(
                "role",
                *[Coalesce(name, Value("")) for name in ("api_key", "user", "team", "org", "project")],
                name="grant_once",
            ),
        ]

    def __str__(self) -> str:
        return self.role

    @property
    def words(self) -> RoleWords:
        """The role in words."""
        return ROLE_WORDS[Role(self.role)]

    @property
    def grant(self) -> Grant:
        """The role with its scope."""
        return Grant(Role(self.role), self.org_id, self.project_id)

    @property
    def scope(self) -> Scope:
        """The scope, with the organization of the project."""
        return Scope(self.project.org_id if self.project else self.org_id, self.project_id)
