"""Organizations, projects, users, teams, API keys, the roles they hold, and the access lists."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property

from accesslist.rules.second_factor import NEVER
from accesslist.rules.usernames import LONGEST_SKELETON, skeleton, username_key
from opsapi.fields import CidrField, PrimaryIdField, SealedField
from opsapi.roles import IMPLIED, READING, Grant, Role, Scope


class Organization(models.Model):
    """A customer or department; projects belong to it. Names need not be unique."""

    id = PrimaryIdField()
    name = models.CharField(max_length=200)
    created = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class LiveProjectManager(models.Manager["Project"]):
    """Projects that were not deleted: what everybody but the purge sees."""

    def get_queryset(self) -> models.QuerySet["Project"]:
        """Without those the worker is still taking away."""
        return super().get_queryset().filter(deleted=None)


class Project(models.Model):
    """A project, which the API calls a group: what hosts, alerts and configurations belong to.

    A deleted one is gone for everybody at once, gives its name and organization free, and its row
    stays until the worker has taken away what belonged to it.
    """

    id = PrimaryIdField()
    name = models.CharField(max_length=200)
    org = models.ForeignKey(Organization, null=True, on_delete=models.PROTECT, related_name="projects")
    tags = ArrayField(models.CharField(max_length=100), default=list)
    host_count = models.PositiveIntegerField(default=0, help_text="Kept by the fleet when hosts come and go.")
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
            # Projects are listed in the order they were made.
            models.Index(fields=["created", "id"], name="project_created"),
            # What the worker has to take away.
            models.Index(fields=["deleted"], name="project_deleted", condition=Q(deleted__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name


def username_forms(username: str) -> dict[str, str]:
    """The columns that no two users share: the name's key, and what it and its key look like."""
    key = username_key(username)
    return {
        "username_key": key,
        "username_skeleton": skeleton(username),
        "username_key_skeleton": skeleton(key),
    }


class UserManager(BaseUserManager["User"]):
    """Finds users as they log in."""

    def get_by_natural_key(self, username: str | None) -> "User":
        """The user of that name, in whatever case it was typed."""
        return self.get(username_key=username_key(username or ""))


class User(AbstractBaseUser):
    """A person. Logs in to the console; scripts use API keys."""

    id = PrimaryIdField()
    username = models.CharField(max_length=254)
    username_key = models.CharField(max_length=1000, unique=True, editable=False)
    # Absent where a user from before migration 0008 has a name that looks like an older one.
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
        "registered itself", default=False, db_default=False, help_text="Made without a key (endpoint 5)."
    )
    sessions_ended = models.DateTimeField(null=True, editable=False)
    revocations = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    def __str__(self) -> str:
        return self.username

    def get_session_auth_hash(self) -> str:
        """What a session has to bear: another after a change of password, or when all others were ended."""
        inherited = super().get_session_auth_hash()
        if self.sessions_ended is None:
            return inherited
        stamp = f"{inherited} {self.sessions_ended.isoformat()}"
        return salted_hmac("accesslist.User.sessions_ended", stamp, algorithm="sha256").hexdigest()

    @cached_property
    def grants_held(self) -> tuple[Grant, ...]:
        """The user's roles, their own and those of their teams."""
        mine = RoleGrant.objects.filter(Q(user=self) | Q(team__members=self)).distinct()
        return tuple(dict.fromkeys(row.grant for row in mine))

    @cached_property
    def is_staff(self) -> bool:
        """Whether the user may enter the console: a user with any role that reads something may."""
        return any(not IMPLIED[grant.role].isdisjoint(READING) for grant in self.grants_held)

    def has_perm(self, perm: str, obj: object | None = None) -> bool:
        """Django's permissions mean nothing here: what is offered the console asks the principal."""
        return False

    def has_module_perms(self, app_label: str) -> bool:
        """As `has_perm`."""
        return False


class SecondFactor(models.Model):
    """What a user proves beside the password: codes by time (RFC 6238), or once each a recovery code.

    While `confirmed` is absent it is being set up, and asked for nowhere.
    """

    id = PrimaryIdField()
    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    secret = SealedField()
    confirmed = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=NEVER)
    recovery_hashes = ArrayField(models.CharField(max_length=64), default=list)
    created = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.user)


class Team(models.Model):
    """People of an organization, who together are given roles in projects and are told of alerts."""

    id = PrimaryIdField()
    org = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="teams")
    name = models.CharField(max_length=200)
    members = models.ManyToManyField(User, related_name="teams")
    created = models.DateTimeField()

    class Meta:
        # The teams of an organization are listed in the order they were made.
        indexes = [models.Index(fields=["org", "created", "id"], name="team_org_created")]

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A key for scripts. Of the private key it stores only what digest needs, encrypted."""

    id = PrimaryIdField()
    desc = models.CharField(max_length=250)
    public_key = models.CharField(max_length=6, unique=True, db_collation="C")
    ha1 = SealedField()
    private_last4 = models.CharField(max_length=4)
    created = models.DateTimeField()
    revocations = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.public_key} ({self.desc})"


class RoleGrant(models.Model):
    """One role held by one key, user or team: over the installation, in an organization, or in a project."""

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
            # Absent ones count as equal; NULLS NOT DISTINCT came with PostgreSQL 15.
            models.UniqueConstraint(
                "role",
                *[Coalesce(name, Value("")) for name in ("api_key", "user", "team", "org", "project")],
                name="grant_once",
            ),
        ]

    def __str__(self) -> str:
        return self.role

    @property
    def grant(self) -> Grant:
        """The role, and where it holds."""
        return Grant(Role(self.role), self.org_id, self.project_id)

    @property
    def scope(self) -> Scope:
        """Where it holds, with the project's organization."""
        return Scope(self.project.org_id if self.project else self.org_id, self.project_id)


class AccessListEntry(models.Model):
    """A range of addresses from which callers may call: any key with a global role, or one key."""

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
