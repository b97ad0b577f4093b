"""The types of notifications to people, who are notified by e-mail, SMS, or both."""

from collections.abc import Sequence
from dataclasses import replace

from alerting.choices import PeopleType
from alerting.notification_types.base import NotificationField, NotificationType
from integrations.channels.email import EMAIL
from integrations.channels.sms import SMS
from opsapi.api.fields import Flag, Identifier, ListOf, OneOf, Text
from opsapi.roles import Role

_CHANNELS = (EMAIL.type, SMS.type)
GROUP_ROLES = [role.value for role in Role if role.is_group]
ORG_ROLES = [role.value for role in Role if role.is_org]
_EMAIL = NotificationField("emailEnabled", "By e-mail", Flag(required=False), example=True)
_SMS = NotificationField("smsEnabled", "By SMS", Flag(required=False), example=False)
_EMAIL_BY_DEFAULT = replace(_EMAIL, form=Flag(required=False, default=True))
_NO_SMS_BY_DEFAULT = replace(_SMS, form=Flag(required=False, default=False))


def _members(people: PeopleType, label: str, names: Sequence[str], example: Role) -> NotificationType:
    form = ListOf(OneOf(names), max_length=len(names), unique=True, required=False)
    roles = NotificationField("roles", "Roles", form, example=[example.value])
    return NotificationType(people.value, label, fields=(roles, _EMAIL, _SMS), channels=_CHANNELS, most=1)


PEOPLE = (
    NotificationType(
        PeopleType.ADMIN.value,
        "Administrators",
        fields=(_EMAIL_BY_DEFAULT, _NO_SMS_BY_DEFAULT),
        channels=_CHANNELS,
        global_only=True,
    ),
    _members(PeopleType.GROUP, "Project members", GROUP_ROLES, Role.GROUP_OWNER),
    _members(PeopleType.ORG, "Organization members", ORG_ROLES, Role.ORG_OWNER),
    NotificationType(
        PeopleType.USER.value,
        "User",
        fields=(
            NotificationField("username", "Username", Text(max_length=254), example="ada@example.com"),
            _EMAIL_BY_DEFAULT,
            _NO_SMS_BY_DEFAULT,
        ),
        channels=_CHANNELS,
    ),
    NotificationType(
        PeopleType.TEAM.value,
        "Team",
        fields=(
            NotificationField("teamId", "Team", Identifier(), example="69201a2b3c4d5e6f70819207"),
            _EMAIL_BY_DEFAULT,
            replace(_NO_SMS_BY_DEFAULT, example=True),
        ),
        channels=_CHANNELS,
    ),
)
