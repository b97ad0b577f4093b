"""Organizations, projects, users, teams, API keys, roles, invitations, access lists, nonces, attempts."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property

from accesslist.rules.invitations import InvitationOutcome
from accesslist.rules.second_factor import NEVER
from accesslist.rules.usernames import LONGEST_SKELETON, skeleton, username_key
from opsapi.api.principal import ActorKind
from opsapi.clock import time_words
from opsapi.fields import CidrField, EncryptedField, IdField, PrimaryIdField
from opsapi.roles import READING, ROLE_WORDS, Grant, Role, RoleWords, Scope, holds_somewhere


class Organization(models.Model):
    """A customer or department that owns projects. Names need not be unique."""

    id = PrimaryIdField()
    name = models.CharField(max_length=200)
    created = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class LiveProjectManager(models.Manager["Project"]):
    """Projects that are not deleted. Only the purge sees deleted projects."""

    def get_queryset(self) -> models.QuerySet["Project"]:
        """Excludes projects that the worker is still purging."""
        return super().get_queryset().filter(deleted=None)


class Project(models.Model):
    """A project, which the API calls a group. Hosts, alerts and configurations belong to it.

    A deleted project disappears at once and frees its name and organization. Its row stays until the worker
    has purged its contents.
    """

    id = PrimaryIdField()
    name = models.CharField(max_length=200)
    org = models.ForeignKey(Organization, null=True, on_delete=models.PROTECT, related_name="projects")
    tags = ArrayField(models.CharField(max_length=100), default=list)
    host_count = models.PositiveIntegerField(
        default=0, help_text="Number of hosts. Updated when hosts are added and deleted."
    )
    created = models.DateTimeField()
    deleted = models.DateTimeField(null=True)

    objects = LiveProjectManager()
    with_deleted: ClassVar[models.Manager["Project"]] = models.Manager()

    class Meta:
        base_manager_name = "with_deleted"
        constraints = [
            models.UniqueConstraint(name="project_name_once", fields=["name"], condition=Q(deleted=None)),
            models.CheckConstraint(
                name="project_has_org_until_deleted",
                condition=Q(org__isnull=False, deleted=None) | Q(org=None, deleted__isnull=False),
            ),
        ]
        indexes = [
            # Projects are listed in the order of creation.
            models.Index(fields=["created", "id"], name="project_created"),
            # Projects that the worker must purge.
            models.Index(fields=["deleted"], name="project_deleted", condition=Q(deleted__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name


def username_forms(username: str) -> dict[str, str]:
    """The unique columns of a user: the key of the name, and the skeletons of the name and its key."""
    key = username_key(username)
    return {
        "username_key": key,
        "username_skeleton": skeleton(username),
        "username_key_skeleton": skeleton(key),
    }


class User(AbstractBaseUser):
    """A person who logs in to the console. Scripts use API keys."""

    id = PrimaryIdField()
    username = models.CharField(max_length=254)
    username_key = models.CharField(max_length=1000, unique=True, editable=False)
    # Empty for a user from before migration 0008 whose name looks like an older name.
    username_skeleton = models.CharField(
        max_length=LONGEST_SKELETON, unique=True, null=True, editable=False, db_collation="C"
    )
    username_key_skeleton = models.CharField(
        max_length=LONGEST_SKELETON, unique=True, null=True, editable=False, db_collation="C"
    )
    first_name = models.CharField(max_length=100)
    last_name = models.CharField(max_length=100)
    email_address = models.CharField(max_length=254, null=True)
    mobile_number = models.CharField(max_length=40, null=True)
    created = models.DateTimeField()
    self_registered = models.BooleanField(
        "registered itself",
        default=False,
        db_default=False,
        help_text="Created without an API key (endpoint 5).",
    )
    password_given = models.BooleanField(
        "must change the password",
        default=False,
        db_default=False,
        help_text="Somebody else set the password. The console asks for a new one after the log-in.",
    )
    sessions_ended = models.DateTimeField(null=True, editable=False)
    revocations = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.username

    def get_session_auth_hash(self) -> str:
        """The value that sessions must contain.

        It changes with the password and when all sessions are ended.
        """
        inherited = super().get_session_auth_hash()
        if self.sessions_ended is None:
            return inherited
        stamp = f"{inherited} {self.sessions_ended.isoformat()}"
        return salted_hmac("accesslist.User.sessions_ended", stamp, algorithm="sha256").hexdigest()

    @cached_property
    def grants_held(self) -> tuple[Grant, ...]:
        """The roles of the user, including the roles of the user's teams."""
        mine = RoleGrant.objects.filter(Q(user=self) | Q(team__members=self)).distinct()
        return tuple(dict.fromkeys(row.grant for row in mine))

    @cached_property
    def is_staff(self) -> bool:
        """Whether the user may enter the console: users with any role that can read may."""
        return holds_somewhere(self.grants_held, READING)

    def has_perm(self, perm: str, obj: object | None = None) -> bool:
        """Django permissions are not used: the console asks the principal."""
        return False

    def has_module_perms(self, app_label: str) -> bool:
        """As `has_perm`."""
        return False


class SecondFactor(models.Model):
    """The second factor of a user: time-based codes (RFC 6238) or single-use recovery codes.

    Without `confirmed` the setup is not complete, and no code is required.
    """

    id = PrimaryIdField()
    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    secret = EncryptedField()
    confirmed = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=NEVER)
    recovery_hashes = ArrayField(models.CharField(max_length=64), default=list)
    created = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.user)


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


class ApiKey(models.Model):
    """An API key for scripts. Of the private key, only the encrypted HA1 for digest is stored."""

    id = PrimaryIdField()
    desc = models.CharField(max_length=250)
    public_key = models.CharField(max_length=6, unique=True, db_collation="C")
    ha1 = EncryptedField()
    private_last4 = models.CharField(max_length=4)
    created = models.DateTimeField()
    revocations = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.public_key} ({self.desc})"


class RoleGrant(models.Model):
    """A role of a key, user or team: global, in an organization, or in a project."""

    id = models.BigAutoField(primary_key=True)
    role = models.CharField(max_length=40, choices=[(role.value, role.value) for role in Role])
    api_key = models.ForeignKey(ApiKey, null=True, on_delete=models.CASCADE, related_name="grants")
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="grants")
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="grants")
    org = models.ForeignKey(Organization, null=True, on_delete=models.CASCADE, related_name="grants")
    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="grants")

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


class AccessListEntry(models.Model):
    """A range of addresses that keys can call from: a single key, or all keys with a global role."""

    id = PrimaryIdField()
    api_key = models.ForeignKey(ApiKey, null=True, on_delete=models.CASCADE, related_name="access_list")
    cidr_block = CidrField()
    description = models.CharField(max_length=250, null=True)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    last_used = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "access lists"
        constraints = [
            models.UniqueConstraint(
                name="access_list_global_once", fields=["cidr_block"], condition=Q(api_key=None)
            ),
            models.UniqueConstraint(
                name="access_list_key_once",
                fields=["api_key", "cidr_block"],
                condition=Q(api_key__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.cidr_block)


class DigestUse(models.Model):
    """A used (nonce, nc): a second use is a replay. UNLOGGED (migration 0002); rows live for minutes.

    An unlogged table must not own a sequence: on a promoted standby the sequence would be broken.
    """

    pk = models.CompositePrimaryKey("nonce", "nc")
    nonce = models.CharField(max_length=32, db_collation="C")
    nc = models.CharField(max_length=8, db_collation="C")
    used = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.nonce}:{self.nc}"


class DigestEpoch(models.Model):
    """Start of the memory of used nonces. UNLOGGED (migration 0003).

    A crash or a failover empties both tables; nonces from before this row are stale.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    started = models.DateTimeField()

    def __str__(self) -> str:
        return time_words(self.started)


class RateWindow(models.Model):
    """Number of attempts in the current window. UNLOGGED (migration 0002)."""

    bucket = models.CharField(max_length=200, primary_key=True, db_collation="C")
    started = models.DateTimeField()
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.bucket}: {self.count}"
