"""Types that name people, who are notified by e-mail, SMS, or both."""

from collections.abc import Sequence

from alerting.choices import ConfigNotificationType
from alerting.notification_types.base import NotificationField, NotificationType
from integrations.choices import ChannelType
from opsapi.api.fields import EmailAddress, Flag, Identifier, ListOf, MobileNumber, OneOf, Text
from opsapi.roles import Role

_EMAIL_AND_SMS = (ChannelType.EMAIL, ChannelType.SMS)
_CHOSEN = (
    NotificationField("emailEnabled", Flag(required=False)),
    NotificationField("smsEnabled", Flag(required=False)),
)
_BY_EMAIL = (
    NotificationField("emailEnabled", Flag(required=False, default=True)),
    NotificationField("smsEnabled", Flag(required=False, default=False)),
)


GROUP_ROLES = [role.value for role in Role if role.is_group]
ORG_ROLES = [role.value for role in Role if role.is_org]


def _roles(names: Sequence[str]) -> NotificationField:
    form = ListOf(OneOf(names), max_length=len(names), unique=True, required=False)
    return NotificationField("roles", form)


ADMIN = NotificationType(
    type=ConfigNotificationType.ADMIN,
    channels=_EMAIL_AND_SMS,
    fields=_BY_EMAIL,
    example={"emailEnabled": True, "smsEnabled": False},
    global_only=True,
)
GROUP = NotificationType(
    type=ConfigNotificationType.GROUP,
    channels=_EMAIL_AND_SMS,
    fields=(_roles(GROUP_ROLES), *_CHOSEN),
    example={"roles": [Role.GROUP_OWNER.value], "emailEnabled": True, "smsEnabled": False},
    most=1,
)
ORG = NotificationType(
    type=ConfigNotificationType.ORG,
    channels=_EMAIL_AND_SMS,
    fields=(_roles(ORG_ROLES), *_CHOSEN),
    example={"roles": [Role.ORG_OWNER.value], "emailEnabled": True, "smsEnabled": False},
    most=1,
)
USER = NotificationType(
    type=ConfigNotificationType.USER,
    channels=_EMAIL_AND_SMS,
    fields=(NotificationField("username", Text(max_length=254)), *_BY_EMAIL),
    example={"username": "ada@example.com", "emailEnabled": True, "smsEnabled": False},
)
TEAM = NotificationType(
    type=ConfigNotificationType.TEAM,
    channels=_EMAIL_AND_SMS,
    fields=(NotificationField("teamId", Identifier()), *_BY_EMAIL),
    example={"teamId": "69201a2b3c4d5e6f70819207", "emailEnabled": True, "smsEnabled": True},
)
EMAIL = NotificationType(
    type=ConfigNotificationType.EMAIL,
    channels=(ChannelType.EMAIL,),
    fields=(
        NotificationField("emailAddress", EmailAddress(), config_name="emailAddress"),
        NotificationField("emailEnabled", Flag(required=False)),
    ),
    example={"emailAddress": "oncall@example.com"},
)
SMS = NotificationType(
    type=ConfigNotificationType.SMS,
    channels=(ChannelType.SMS,),
    fields=(NotificationField("mobileNumber", MobileNumber(), config_name="mobileNumber"),),
    example={"mobileNumber": "+12025550100"},
)
