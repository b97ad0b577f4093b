"""Invitations."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce

from accesslist.invitations.rules import InvitationOutcome
from accesslist.projects.models import Organization, Project
from opsapi.api.principal import ActorKind
from opsapi.fields import IdField, PrimaryIdField
from opsapi.roles import Grant, Role, Scope


class Invitation(models.Model):
    """An invitation to a project or an organization, by a link with a token that works once.

    Of the token, only the hash is stored. An invitation without `outcome` is open: it can be accepted until
    `expires`, and afterwards be sent again. The roles of the inviter (a user or a key, without a foreign key,
    because the invitation outlives both) are checked again when somebody accepts.
    """

    id = PrimaryIdField()
    org = models.ForeignKey(Organization, null=True, on_delete=models.CASCADE, related_name="invitations")
    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="invitations")
    roles = ArrayField(models.CharField(max_length=40))
    email_address = models.CharField(
        "e-mail address", max_length=254, null=True, help_text="Empty if anybody who has the link can accept."
    )
    email_key = models.CharField(max_length=1000, null=True, editable=False, db_collation="C")
    token_hash = models.CharField(max_length=64, editable=False)
    replaced_hashes = ArrayField(models.CharField(max_length=64), default=list, editable=False)
    inviter_kind = models.CharField(max_length=10, choices=[(kind.value, kind.value) for kind in ActorKind])
    inviter_id = IdField()
    inviter_name = models.CharField("invited by", max_length=254)
    created = models.DateTimeField()
    expires = models.DateTimeField("valid until")
    mailed = models.DateTimeField(
        "sent by e-mail", null=True, help_text="When the mail server accepted the message."
    )
    outcome = models.CharField(
        max_length=10, null=True, choices=[(outcome.value, outcome.value) for outcome in InvitationOutcome]
    )
    ended = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="invitation_has_one_scope",
                condition=Q(org__isnull=False, project=None) | Q(org=None, project__isnull=False),
            ),
            # One open invitation of an address in a scope.
            models.UniqueConstraint(
                "email_key",
                *[Coalesce(name, Value("")) for name in ("org", "project")],
                name="invitation_once",
                condition=Q(outcome=None, email_key__isnull=False),
            ),
        ]
        indexes = [
            # Invitations to be deleted.
            models.Index(fields=["expires"], name="invitation_expires"),
        ]

    def __str__(self) -> str:
        return self.email_address or "by link"

    @property
    def scope(self) -> Scope:
        """The project or the organization; a project without its organization."""
        return Scope(self.org_id, self.project_id)

    @property
    def place(self) -> str:
        """The scope in a sentence: `the project payments`."""
        return f"the project {self.project}" if self.project else f"the organization {self.org}"

    @property
    def grants(self) -> list[Grant]:
        """The roles, with their scope."""
        return [Grant(Role(name), self.org_id, self.project_id) for name in self.roles]
