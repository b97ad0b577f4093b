"""Who counts as one receiver, and how often one that fails is tried (decisions 7). Pure."""

from datetime import timedelta

from integrations.choices import ChannelType

PROBED_AFTER = 5
"""After so many failures in a row a receiver is only probed."""
PROBE_EVERY = timedelta(seconds=10)


def receiver_key(channel: ChannelType, recipient: str) -> str:
    """What fails together: a host that was configured, else the one service behind the channel.

    `recipient` is as the log shows it: of a URL at least scheme and host.
    """
    scheme, is_url, rest = recipient.partition("://")
    return f"{channel.value} {scheme}://{rest.partition('/')[0]}" if is_url else channel.value
