"""Where people set their addresses, for pages that say that no user has an address."""

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from alerting.reasons import NotificationReason
from opsapi.console.admin_urls import list_url


def address_links(reason: str | None) -> SafeString | str:
    """The way to set an address; empty for another reason."""
    if reason != NotificationReason.NO_ADDRESS.value:
        return ""
    return format_html(
        '<a class="console-link" href="{}">Set your own address</a>. '
        'Other <a class="console-link" href="{}">users</a> set theirs under “Your account”.',
        reverse("account_details"),
        list_url("accesslist.user"),
    )
