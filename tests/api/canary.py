"""Secrets planted wherever one can be, and everything that was shown while they were used."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from rest_framework import serializers

from accesslist.digest import rules as digest
from accesslist.digest.authentication import nonce_key
from accesslist.models import ApiKey, Invitation, User
from alerting.configs.notification_documents import DOCUMENTS as NOTIFICATION_DOCUMENTS
from alerting.configs.notification_documents import NotificationDocument
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.models import NotificationSetting
from automation.desired_state.resource import AutomationConfigDocument
from automation.models import AgentSettings, AutomationRevision
from integrations.choices import SecretKind
from integrations.models import Integration
from integrations.typed_documents import TypedDocument
from integrations.types import INTEGRATION_TYPES
from opsapi.api.bodies import render
from opsapi.api.documents import Document
from tests.api import bodies
from tests.architecture.test_writes_are_recorded import BODIES
from tests.client import ApiClient
from tests.factories.accesslist import KeyPair

PUBLIC = "/api/public/v1.0"
# The guard refuses the address at once, so that delivery fails and says why.
GUARDED = f"http://127.0.0.1:9/in/{bodies.SECRET}"
_PLANTED_AS = {SecretKind.URL: GUARDED, SecretKind.HEADERS: {"X-Key": bodies.SECRET}}
_NOTIFICATIONS = [
    {"typeName": kind.type, **kind.example}
    | {name: _PLANTED_AS.get(field.secret, bodies.SECRET) for name, field in kind.secret_fields.items()}
    for kind in NOTIFICATION_TYPES.values()
    if kind.secret_fields
]
_CONFIG = bodies.alert_config(notifications=_NOTIFICATIONS)
_GLOBAL_CONFIG = {**_CONFIG, "forAllGroups": True}

DOCUMENT_SECRETS = (
    *("key", "newKey", "initPwd", "bindPassword", "DB_PASS", "passphrase", "sharedSecret", "accessToken"),
    *("apiKey", "private_key", "credentials"),
)
"""Names of secrets in automation documents, one of each kind."""

PLANTED: Mapping[str, Any] = {
    f"POST {PUBLIC}/unauth/users": bodies.user(password=bodies.SECRET),
    f"POST {PUBLIC}/users": bodies.user(username="mary@example.com", password=bodies.SECRET),
    f"POST {PUBLIC}/groups/<group_id>/alertConfigs": _CONFIG,
    f"POST {PUBLIC}/groups/<group_id>/alertConfigs/dryRun": bodies.dry_run(_CONFIG),
    f"PUT {PUBLIC}/groups/<group_id>/alertConfigs/<config_id>": _CONFIG,
    f"PATCH {PUBLIC}/groups/<group_id>/alertConfigs/<config_id>": _CONFIG,
    f"POST {PUBLIC}/globalAlertConfigs": _GLOBAL_CONFIG,
    f"PUT {PUBLIC}/globalAlertConfigs/<global_config_id>": _GLOBAL_CONFIG,
    f"PUT {PUBLIC}/groups/<group_id>/agents/settings": bodies.agent_settings(),
    # Written third: after the two that are there a restored one.
    f"PUT {PUBLIC}/groups/<group_id>/automationConfig": bodies.automation_config(
        version=3, auth=dict.fromkeys(DOCUMENT_SECRETS, bodies.SECRET)
    ),
}
"""Route → a body with the secret in each of its fields that can hold one."""

SECRET_FIELDS = {
    "mongodb",
    "password",
    "postgresql",
    "privateKey",
    *(name for kind in INTEGRATION_TYPES.values() for name in kind.secret_fields),
    *(name for kind in NOTIFICATION_TYPES.values() for name in kind.secret_fields),
}
"""Fields of documents that hold a secret."""

HARMLESS_FIELDS = {
    "apiKeyId": "the id of a key",
    "keyFile": "whether a server has a key file",
    "programmaticApiKey": "a key's document, whose fields are looked at by themselves",
    "publicKey": "the half of a key that everybody may know",
    "runbookUrl": "the address of a page that messages link to",
    "targetPublicKey": "the half of a key that everybody may know",
}
"""Fields of documents whose names only look like it → why they may be shown."""

_SHOWN_IN_FULL = re.compile(
    r".*/automationConfig(/revisions/\d+(/restore)?)?(\?.*)?|/agents/v1\.0/groups/[0-9a-f]{24}"
    r"/(settings|automation)(\?.*)?"
)
"""Answers with secrets: the configuration for callers who can publish it, and what agents fetch."""
_INVITATION_LINK = re.compile(r'"link":"[^"]*/admin/invitation/#[0-9a-f]{24}([^"]+)"')
"""The secret in the link of a new invitation."""
_LOOKS_SECRET = re.compile(r"key|token|secret|password|credential|url", re.IGNORECASE)


def documents(kind: type[Document] = Document) -> Iterator[type[Document]]:
    """Every document there is, except the bases of documents that have a type."""
    for below in kind.__subclasses__():
        if not issubclass(below, TypedDocument) or hasattr(below, "kind"):
            yield below
        yield from documents(below)


def suspicious_fields(document: type[Document]) -> set[str]:
    """Names of its fields that look as if they held a secret."""
    return {str(name) for name in document().fields if _LOOKS_SECRET.search(str(name))}


def secret_fields(field: Any) -> set[str]:
    """The names of secret fields of a document and of its nested documents."""
    if isinstance(field, list):
        return secret_fields(field[0]())
    if isinstance(field, type):
        return secret_fields(field())
    if isinstance(field, (serializers.ListField, serializers.ListSerializer)):
        return secret_fields(field.child)
    if isinstance(field, AutomationConfigDocument):
        return set(DOCUMENT_SECRETS)
    if isinstance(field, NotificationDocument):
        return set().union(*(secret_fields(document) for document in NOTIFICATION_DOCUMENTS.values()))
    found: set[str] = set()
    for name, inner in getattr(field, "fields", {}).items():
        if not inner.read_only:
            found |= ({name} & SECRET_FIELDS) | secret_fields(inner)
    return found


def planted_fields(body: Any) -> set[str]:
    """Names under which the body holds the secret."""
    if isinstance(body, list):
        return {name for item in body for name in planted_fields(item)}
    if not isinstance(body, dict):
        return set()
    here = {
        name
        for name, value in body.items()
        for text in (_members(value) if name in SECRET_FIELDS else [value])
        if isinstance(text, str) and bodies.SECRET in text
    }
    return here.union(*(planted_fields(value) for name, value in body.items() if name not in here))


def _members(value: Any) -> list[Any]:
    """The texts of a field with one secret or several."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else [value]


def body_of(route: str) -> Any:
    """The body with secrets in it, where it can have some."""
    return PLANTED.get(route, BODIES.get(route))


def spoilt(body: Any) -> Iterator[bytes]:
    """The body so that it is refused: by another field, by the form of the secret itself, by its JSON."""
    text = render(body).decode()
    yield text.replace("{", '{"no such field": 1, ', 1).encode()
    yield text.replace("{", '{"a": 1, "a": 2, ', 1).encode()
    yield text[:-1].encode()
    secret = json.dumps(bodies.SECRET)[1:-1]
    quoted = re.compile(rf'"[^"]*{re.escape(secret)}[^"]*"')
    for other in ("[{}]", '{{"x": {}}}', '{}, "x": 1e999'):
        yield quoted.sub(lambda found, form=other: form.format(found[0]), text).encode()  # type: ignore[misc]  # a default binds the loop's value
    for longer in (secret + "\\u0000", secret * 100, "\\r" + secret, "é://" + secret):
        yield text.replace(secret, longer).encode()


class Witness(ApiClient):
    """A client that keeps everything it is shown, and every secret it is given or makes use of."""

    def __init__(self, key: KeyPair | None = None) -> None:
        super().__init__(key)
        self.shown: list[tuple[str, str]] = []
        self.secrets: set[str] = {bodies.SECRET}
        if key:
            self.learn(key)

    def learn(self, key: KeyPair) -> None:
        """Add the private key and its digest hash to the secrets."""
        self.secrets |= {key.private_key, digest.ha1(key.public_key, digest.REALM, key.private_key)}

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """As any request; a key or link created by it is a secret from then on, shown this once."""
        answer = super().request(method, path, body, **options)
        text = answer.content.decode()
        for public, private in _keys_in(answer.json() if text else {}):
            self.learn(KeyPair("", public, private))
            assert text.count(private) == 1
            text = text.replace(private, "")
        for token in _INVITATION_LINK.findall(text):
            self.secrets.add(token)
            assert text.count(token) == 1
            text = text.replace(token, "")
        if answer.status_code == 200 and _SHOWN_IN_FULL.fullmatch(path):
            text = text.replace(bodies.SECRET, "")
        self.shown.append((f"{method} {path}", f"{text} {dict(answer.headers)}"))
        return answer


def _keys_in(document: Any) -> Iterator[tuple[str, str]]:
    """Public and private part of every key that is shown in full."""
    if isinstance(document, list):
        for item in document:
            yield from _keys_in(item)
    elif isinstance(document, dict):
        private = document.get("privateKey", "")
        if private and "*" not in private:
            yield document["publicKey"], private
        for value in document.values():
            yield from _keys_in(value)


def kept_secrets() -> set[str]:
    """What the platform keeps to itself: its own keys, and all that is encrypted or hashed, as stored."""
    stored = {
        *ApiKey.objects.values_list("ha1", flat=True),
        *User.objects.values_list("password", flat=True),
        *Invitation.objects.values_list("token_hash", flat=True),
        *Integration.objects.values_list("secrets", flat=True),
        *AutomationRevision.objects.values_list("document", flat=True),
        *AgentSettings.objects.values_list("secrets", flat=True),
        *NotificationSetting.objects.exclude(secrets=None).values_list("secrets", flat=True),
    }
    own = {settings.SECRET_KEY, nonce_key(settings.SECRET_KEY).hex(), *settings.OPSAPI_ENCRYPTION_KEYS}
    return {str(secret) for secret in stored | own if secret}
