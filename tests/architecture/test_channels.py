"""A channel is one module with one declaration, and every registry follows from it."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from django.conf import settings

from alerting.configs.choices import PeopleType
from alerting.configs.inputs import NOTIFICATION_INPUTS, notification_inputs
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.models import Notification, NotificationSetting
from integrations import channels
from integrations.channels import CHANNELS
from integrations.channels.base import Channel
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES, SCRAPER
from opsapi.api.schema import openapi_document
from opsapi.environment import READ

ROOT = Path(settings.BASE_DIR)
PACKAGES = ("opsapi", "events", "accesslist", "automation", "integrations", "alerting")
EACH = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)


def declared() -> Iterator[tuple[str, Channel]]:
    """Every channel that a module declares, with the module's name."""
    for module in iter_modules(channels.__path__, f"{channels.__name__}."):
        values = vars(import_module(module.name)).values()
        yield from ((module.name, value) for value in values if isinstance(value, Channel))


def product_code() -> Iterator[Path]:
    """The modules of the product, without migrations and the demonstration."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if "migrations" not in path.parts:
                yield path


def test_every_module_with_a_channel_declares_one_and_the_registry_has_it() -> None:
    found = list(declared())
    assert len({name for name, _ in found}) == len(found) == len(CHANNELS)
    assert {channel.type for _, channel in found} == set(CHANNELS)
    assert all(CHANNELS[channel.type] is channel for _, channel in found)


def test_notifications_and_integrations_follow_from_the_channels() -> None:
    assert set(NOTIFICATION_TYPES) == {*PeopleType, *CHANNELS} == set(NOTIFICATION_INPUTS)
    with_credentials = {name for name, channel in CHANNELS.items() if not channel.has_address}
    assert set(INTEGRATION_TYPES) == with_credentials | {SCRAPER.type}
    assert {kind.integration for kind in NOTIFICATION_TYPES.values() if kind.integration} == with_credentials
    assert all(NOTIFICATION_TYPES[name].label == channel.label for name, channel in CHANNELS.items())


def test_the_openapi_document_has_every_channel() -> None:
    components = openapi_document()["components"]["schemas"]
    assert set(components["ChannelEnum"]["enum"]) == set(CHANNELS)
    schemas = components.values()
    for name, types in (("type", INTEGRATION_TYPES), ("typeName", NOTIFICATION_TYPES)):
        constants = {schema.get("properties", {}).get(name, {}).get("const") for schema in schemas}
        assert constants - {None} == set(types)


@EACH
def test_a_name_on_the_wire_is_written_in_one_module(channel: Channel) -> None:
    quoted = re.compile(rf"[\"']{channel.type}[\"']")
    found = [path for path in product_code() if quoted.search(path.read_text())]
    assert len(found) == 1, found
    assert found[0].parent.name == "channels"


@EACH
def test_its_names_are_short_enough_to_be_stored(channel: Channel) -> None:
    for column in (Notification.channel, NotificationSetting.type_name, Integration.type):
        assert column.field.max_length is not None
        assert len(channel.type) <= column.field.max_length


def test_people_know_each_channel_by_a_name_of_its_own() -> None:
    labels = [kind.label for kind in (*NOTIFICATION_TYPES.values(), SCRAPER)]
    assert len(set(labels)) == len(labels)
    inputs = notification_inputs(is_global=True)
    for name, kind in NOTIFICATION_TYPES.items():
        assert kind.label in kind.full_name
        assert name in kind.full_name.upper()
        own = [field for field in kind.fields if field.name in NOTIFICATION_INPUTS[name]]
        assert [inputs[field.name].label for field in own] == [field.label for field in own]


@EACH
def test_no_secret_of_an_example_is_shown(channel: Channel) -> None:
    for kind in (channel, NOTIFICATION_TYPES[channel.type]):
        shown = kind.shown(kind.example)
        named = {name for name in kind.secret_fields if kind.fields[0].name == name or name in kind.example}
        assert named <= set(shown)
        assert not [name for name in named if kind.example[name] == shown[name]]


@EACH
def test_its_fields_name_each_other_and_its_settings_exist(channel: Channel) -> None:
    names = {field.name for field in channel.fields}
    assert {field.goes_with for field in channel.fields if field.goes_with} <= names
    assert channel.place_field is None or channel.place_field in names
    assert set(channel.base_url_settings) <= set(READ)


@EACH
def test_the_glossary_names_it(channel: Channel) -> None:
    rows = (ROOT / "docs/glossary.md").read_text().casefold().splitlines()
    name = f"`{channel.type}`".casefold()
    assert [row for row in rows if row.startswith(f"| {channel.label.casefold()}") and name in row]
