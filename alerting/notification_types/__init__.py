"""The notification types: for people, and one per channel."""

from collections.abc import Mapping

from alerting.notification_types.base import NotificationField, NotificationType
from alerting.notification_types.people import PEOPLE
from integrations.channels import CHANNELS
from integrations.channels.base import Channel, ChannelField


def _of_channel(channel: Channel) -> NotificationType:
    names = {field.name: field.notification_name or field.name for field in channel.fields}

    def of_field(field: ChannelField) -> NotificationField:
        return NotificationField(
            names[field.name],
            # The form of a configuration shows the fields of all types, so their labels must differ.
            field.label if channel.has_address else f"{field.label} ({channel.label})",
            field.form,
            example=field.example,
            secret=field.secret,
            goes_with=names[field.goes_with] if field.goes_with else None,
            config_name=field.name if field.in_config else None,
        )

    return NotificationType(
        channel.type,
        channel.label,
        fields=tuple(of_field(field) for field in channel.fields if field.in_notification),
        channels=(channel.type,),
        integration=None if channel.has_address else channel.type,
        missing_code=channel.missing_code,
    )


NOTIFICATION_TYPES: Mapping[str, NotificationType] = {
    kind.type: kind for kind in (*PEOPLE, *(_of_channel(channel) for channel in CHANNELS.values()))
}
