"""The current addresses of the people that a notification names."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from accesslist.models import User
from accesslist.users.rules import username_key
from accesslist.users.store import (
    RecipientRow,
    Recipients,
    administrators,
    org_recipients,
    org_role_recipients,
    project_recipients,
    team_recipients,
    user_recipient,
)
from alerting.configs.choices import PeopleType
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.engine.models import Notification
from alerting.reasons import NotificationReason
from events.models import Event
from integrations.channels import CHANNELS
from integrations.channels.email import EMAIL
from integrations.channels.sms import SMS
from integrations.choices import ChannelType

MOST_RECIPIENTS_OF_ONE = 1_000
"""The most recipients of one notification."""

_NOBODY = {
    PeopleType.ADMIN: NotificationReason.NO_USER_WITH_ROLE,
    PeopleType.GROUP: NotificationReason.NO_USER_WITH_ROLE,
    PeopleType.ORG: NotificationReason.NO_USER_WITH_ROLE,
    PeopleType.USER: NotificationReason.NO_USER,
    PeopleType.TEAM: NotificationReason.NO_MEMBER,
}


@dataclass(frozen=True, slots=True)
class RecipientAddress:
    """The address of one person, and its channel."""

    channel: ChannelType
    recipient: str


@dataclass(frozen=True, slots=True)
class RecipientAddresses:
    """The addresses of a notification, without repetition. `nobody` is the reason for an empty list.

    `cut`: there are more people than MOST_RECIPIENTS_OF_ONE, and the list ends there.
    """

    addresses: tuple[RecipientAddress, ...]
    nobody: NotificationReason | None = None
    cut: bool = False


def addresses_of(
    setting: NotificationSetting, *, group_id: str | None, org_id: str | None = None
) -> RecipientAddresses:
    """Return the addresses of the people of a setting.

    `group_id` is the project of the alert or event. It is None for the test of a global configuration, and
    for an event without a project, which may belong to an organization, `org_id`.
    """
    recipients = _recipients(setting, group_id, org_id)
    if recipients is None:
        return RecipientAddresses((), NotificationReason.NO_PROJECT)
    people = list(recipients[: MOST_RECIPIENTS_OF_ONE + 1])
    if not people:
        return RecipientAddresses((), _NOBODY[PeopleType(setting.type_name)])
    channels = _channels(setting.fields)
    addresses = tuple(_each_once(_reached(person, channels) for person in people[:MOST_RECIPIENTS_OF_ONE]))
    return RecipientAddresses(
        addresses,
        None if addresses else NotificationReason.NO_ADDRESS,
        cut=len(people) > MOST_RECIPIENTS_OF_ONE,
    )


def still_reached(
    setting: NotificationSetting,
    address: RecipientAddress,
    *,
    group_id: str | None,
    org_id: str | None = None,
) -> bool:
    """Whether the address belongs to one of the people of a setting now; ids as for `addresses_of`."""
    recipients = _recipients(setting, group_id, org_id)
    column = dict(_channels(setting.fields)).get(address.channel)
    if recipients is None or column is None:
        return False
    return recipients.filter(**{f"{column}__iexact": address.recipient}).exists()


def why_not_reached(setting: NotificationSetting, user: User, *, group_id: str) -> NotificationReason | None:
    """Why a setting does not reach a user now, about an alert of a project; None if it does.

    By the rules of `addresses_of`.
    """
    if setting.type_name not in _NOBODY:
        return _why_not_by_address(setting, user)
    recipients = _recipients(setting, group_id, None)
    if recipients is None:
        raise AssertionError(f"setting {setting.id} needs a project")
    person = recipients.filter(id=user.id).first()
    if person is None:
        return _not_a_recipient(setting, user)
    if not _reached(person, _channels(setting.fields)):
        has_any = any(person.values())
        return NotificationReason.CHANNEL_DISABLED if has_any else NotificationReason.NO_ADDRESS
    if recipients.filter(id__lt=user.id).count() >= MOST_RECIPIENTS_OF_ONE:
        return NotificationReason.TOO_MANY_RECIPIENTS
    return None


def _why_not_by_address(setting: NotificationSetting, user: User) -> NotificationReason | None:
    """Why a setting that is not for people does not have an address of the user."""
    channel = CHANNELS[ChannelType(setting.type_name)]
    if not channel.has_address:
        return NotificationReason.NOT_FOR_USERS
    address = str(setting.fields.get(channel.fields[0].name, ""))
    own = {known.casefold() for known in (user.email_address, user.mobile_number) if known}
    return None if address.casefold() in own else NotificationReason.OTHER_ADDRESS


def _not_a_recipient(setting: NotificationSetting, user: User) -> NotificationReason:
    fields = setting.fields
    is_named = username_key(fields.get("username", "")) == user.username_key
    if setting.type_name == PeopleType.USER and not is_named:
        return NotificationReason.OTHER_USER
    if setting.type_name == PeopleType.TEAM and not user.teams.filter(id=fields["teamId"]).exists():
        return NotificationReason.NOT_IN_TEAM
    return NotificationReason.ROLE_MISSING


def org_of(notification: Notification) -> str | None:
    """The organization of a notification without a project; None for the installation."""
    if notification.group_id:
        return None
    events = Event.objects.filter(id=notification.event_id)
    return events.values_list("org_id", flat=True).first()


def unreachable(config: AlertConfig) -> dict[int, NotificationReason]:
    """The notifications of a configuration that have no recipients now, by position, with the reason.

    Recipients of a global configuration are unknown until an alert names the project.
    """
    reasons = {
        setting.position: addresses_of(setting, group_id=config.group_id).nobody
        for setting in config.settings.select_related("config")
        if setting.type_name in _NOBODY
    }
    return {
        place: reason
        for place, reason in reasons.items()
        if reason is not None and reason is not NotificationReason.NO_PROJECT
    }


def recipient_label(setting: NotificationSetting) -> str:
    """The recipients of a setting, for the log: the user, the team, or the roles."""
    fields = setting.fields
    named = fields.get("username") or fields.get("teamId")
    return str(named or ", ".join(fields.get("roles", ())))


def _recipients(setting: NotificationSetting, group_id: str | None, org_id: str | None) -> Recipients | None:
    """The people now; None if they depend on a project and there is none."""
    fields = setting.fields
    # Recipients of a project's configuration must still belong to its organization.
    within = None if setting.config.group_id is None else group_id
    match PeopleType(setting.type_name):
        case PeopleType.ADMIN:
            return administrators()
        case PeopleType.GROUP:
            return project_recipients(group_id, fields.get("roles", ())) if group_id else None
        case PeopleType.ORG:
            return _of_organization(group_id, org_id, fields.get("roles", ()))
        case PeopleType.USER:
            return user_recipient(fields["username"], group_id=within)
        case PeopleType.TEAM:
            return team_recipients(fields["teamId"], group_id=within)


def _of_organization(group_id: str | None, org_id: str | None, roles: Collection[str]) -> Recipients | None:
    if group_id is not None:
        return org_recipients(group_id, roles)
    return org_role_recipients(org_id, roles) if org_id is not None else None


def _channels(fields: dict[str, Any]) -> list[tuple[ChannelType, str]]:
    """The channels that the setting uses, each with the column of its address."""
    ways = []
    if fields.get("emailEnabled"):
        ways.append((EMAIL.type, "email_address"))
    if fields.get("smsEnabled"):
        ways.append((SMS.type, "mobile_number"))
    return ways


def _reached(person: RecipientRow, channels: Iterable[tuple[ChannelType, str]]) -> list[RecipientAddress]:
    return [RecipientAddress(channel, person[column]) for channel, column in channels if person[column]]


def _each_once(people: Iterable[list[RecipientAddress]]) -> Iterable[RecipientAddress]:
    """The addresses in order, each receiver once, however its address is spelled."""
    receivers: dict[tuple[ChannelType, str], RecipientAddress] = {}
    for address in chain.from_iterable(people):
        channel = CHANNELS[address.channel]
        first = channel.fields[0].name
        receivers.setdefault((address.channel, channel.identity({first: address.recipient})[first]), address)
    return receivers.values()
