"""Links between pages of the console."""

from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString


def list_link(model: str, row_id: str, text: str) -> SafeString:
    """A link to the list of a model, searched for an id."""
    url = reverse(f"admin:alerting_{model}_changelist") + "?" + urlencode({"q": row_id})
    return format_html('<a href="{}">{}</a>', url, text)
