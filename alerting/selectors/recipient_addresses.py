"""The current addresses of the people whom a notification names."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from accesslist.selectors.recipients import (
    RecipientRow,
    Recipients,
    administrators,
    org_recipients,
    org_role_recipients,
    project_recipients,
    team_recipients,
    user_recipient,
)
from alerting.choices import DropReason, PeopleType
from alerting.models import AlertConfig, Notification, NotificationSetting
from events.models import Event
from integrations.channels.email import EMAIL
from integrations.channels.sms import SMS
from integrations.choices import ChannelType

MOST_RECIPIENTS_OF_ONE = 1_000
"""So many are told by one notification at most."""

_NOBODY = {
    PeopleType.ADMIN: DropReason.NO_HOLDER,
    PeopleType.GROUP: DropReason.NO_HOLDER,
    PeopleType.ORG: DropReason.NO_HOLDER,
    PeopleType.USER: DropReason.NO_USER,
    PeopleType.TEAM: DropReason.NO_MEMBER,
}


@dataclass(frozen=True, slots=True)
class RecipientAddress:
    """Where one person is told, and by which channel."""

    channel: ChannelType
    recipient: str


@dataclass(frozen=True, slots=True)
class RecipientAddresses:
    """All addresses of a notification, each once; `nobody` says why there is none.

    `cut`: there are more people than MOST_RECIPIENTS_OF_ONE, and the later ones are left out.
    """

    addresses: tuple[RecipientAddress, ...]
    nobody: DropReason | None = None
    cut: bool = False


def addresses_of(
    setting: NotificationSetting, *, group_id: str | None, org_id: str | None = None
) -> RecipientAddresses:
    """Where the people of a setting are reached.

    `group_id` is the project it happened in: None for the test of a global configuration, and for what
    happened without a project but perhaps to an organization, `org_id`.
    """
    recipients = _recipients(setting, group_id, org_id)
    if recipients is None:
        return RecipientAddresses((), DropReason.NO_PROJECT)
    people = list(recipients[: MOST_RECIPIENTS_OF_ONE + 1])
    if not people:
        return RecipientAddresses((), _NOBODY[PeopleType(setting.type_name)])
    channels = _channels(setting.fields)
    found = tuple(_each_once(_reached(person, channels) for person in people[:MOST_RECIPIENTS_OF_ONE]))
    return RecipientAddresses(
        found, None if found else DropReason.NO_ADDRESS, cut=len(people) > MOST_RECIPIENTS_OF_ONE
    )


def still_reached(
    setting: NotificationSetting,
    address: RecipientAddress,
    *,
    group_id: str | None,
    org_id: str | None = None,
) -> bool:
    """Whether one of the people of a setting is reached there, as of now; ids as for `addresses_of`."""
    recipients = _recipients(setting, group_id, org_id)
    column = dict(_channels(setting.fields)).get(address.channel)
    if recipients is None or column is None:
        return False
    return recipients.filter(**{f"{column}__iexact": address.recipient}).exists()


def org_of(notification: Notification) -> str | None:
    """The organization a notification without a project tells of; None for the installation."""
    if notification.group_id:
        return None
    events = Event.objects.filter(id=notification.event_id)
    return events.values_list("org_id", flat=True).first()


def unreachable(config: AlertConfig) -> dict[int, DropReason]:
    """The notifications of a configuration, by their place, that would tell nobody now, and why.

    Whom a global one tells in a project is not known before an alert says in which.
    """
    found = {
        setting.position: addresses_of(setting, group_id=config.group_id).nobody
        for setting in config.settings.select_related("config")
        if setting.type_name in _NOBODY
    }
    return {
        place: reason
        for place, reason in found.items()
        if reason is not None and reason is not DropReason.NO_PROJECT
    }


def recipient_label(setting: NotificationSetting) -> str:
    """Whom a setting names, for the log: the user, the team, or the roles."""
    fields = setting.fields
    named = fields.get("username") or fields.get("teamId")
    return str(named or ", ".join(fields.get("roles", ())))


def _recipients(setting: NotificationSetting, group_id: str | None, org_id: str | None) -> Recipients | None:
    """The people as of now; None where a project is missing to say who they are."""
    fields = setting.fields
    # Whom a project's configuration names has to be of its organization still.
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
    """The channels by which people are told, each with the column of its address."""
    ways = []
    if fields.get("emailEnabled"):
        ways.append((EMAIL.type, "email_address"))
    if fields.get("smsEnabled"):
        ways.append((SMS.type, "mobile_number"))
    return ways


def _reached(person: RecipientRow, channels: Iterable[tuple[ChannelType, str]]) -> list[RecipientAddress]:
    return [RecipientAddress(channel, person[column]) for channel, column in channels if person[column]]


def _each_once(people: Iterable[list[RecipientAddress]]) -> Iterable[RecipientAddress]:
    """In their order; e-mail addresses are the same whatever their case."""
    found: dict[tuple[ChannelType, str], RecipientAddress] = {}
    for address in (one for person in people for one in person):
        found.setdefault((address.channel, address.recipient.casefold()), address)
    return found.values()
