"""Recipients who are people, and the messages to them."""

from typing import Any

from accesslist.models import Project, RoleGrant, User
from integrations.choices import ChannelType, MessageKind
from opsapi.roles import Role
from tests.factories.accesslist import UserFactory
from tests.integration.alerting.pipeline import Outside

GROUP: dict[str, Any] = {"typeName": "GROUP", "emailEnabled": True, "delayMin": 0}


def make_member(project: Project, name: str, role: Role = Role.GROUP_READ_ONLY, **changes: Any) -> User:
    """A user with that role in the project and an e-mail address of that name."""
    values = {"username": name, "email_address": f"{name}@example.com"}
    user: User = UserFactory.create(**(values | changes))
    RoleGrant.objects.create(role=role.value, user=user, project=project)
    return user


def messages_of(outside: Outside) -> list[tuple[MessageKind, str]]:
    """The kind and address of each message; equal kinds in a row are sorted by address."""
    sent = [(message.kind, next(iter(config.values()))) for _, config, message in outside.sent]
    places = {kind: place for place, (kind, _) in reversed(list(enumerate(sent)))}
    return sorted(sent, key=lambda message: (places[message[0]], message[1]))


def channels(outside: Outside) -> list[tuple[ChannelType, dict[str, str]]]:
    """By what was sent, and with which configuration."""
    return [(channel, config) for channel, config, _ in outside.sent]
