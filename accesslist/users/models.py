"""Users."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models
from django.db.models import Q
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property

from accesslist.roles.models import RoleGrant
from accesslist.users.rules import LONGEST_SKELETON, skeleton, username_key
from opsapi.fields import PrimaryIdField
from opsapi.roles import READING, Grant, holds_somewhere


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
    time_zone = models.CharField(
        max_length=64,
        default="",
        db_default="",
        help_text="The zone in which the console shows times. Empty: the zone of the browser.",
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
