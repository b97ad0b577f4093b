"""The services for integrations: channels that need credentials, and scrapers."""

from collections.abc import Mapping

from integrations.channels import CHANNELS
from integrations.fields import FieldSet
from integrations.scraper import SCRAPER

INTEGRATION_TYPES: Mapping[str, FieldSet] = {
    service.type: service
    for service in (*(channel for channel in CHANNELS.values() if not channel.has_address), SCRAPER)
}
