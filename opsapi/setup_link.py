"""The first set-up: a link with a token that proves access to the server, and commands without a browser.

The token is the fragment of the link, which browsers do not send: no log of a proxy or of the platform
contains it, and no other page gets it as a referrer. The set-up page sends it in the body of a POST.
"""

import json
import secrets
from base64 import urlsafe_b64encode

from django.conf import settings
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Min
from django.utils.crypto import constant_time_compare, salted_hmac

from opsapi.hostnames import is_unspecified
from opsapi.own_url import own_url
from opsapi.page_paths import SETUP_PATH
from opsapi.program import COMMAND

_SALT = "opsapi.setup_link"


def setup_link() -> str:
    """Return the link, at the public URL, or at the address that the platform listens on."""
    return f"{settings.OPSAPI_PUBLIC_URL or _own_url()}{SETUP_PATH}#{_token()}"


def is_setup_token(text: str) -> bool:
    """Whether the text is the token, compared in constant time."""
    return constant_time_compare(text.strip(), _token())


def _own_url() -> str:
    return own_url("localhost" if is_unspecified(settings.OPSAPI_BIND[0]) else None)


def _token() -> str:
    """256 bits, derived from SECRET_KEY and the time of the first migration.

    So every process and machine of an installation knows it without storing it, and a new database has a new
    token.
    """
    migrations = MigrationRecorder.Migration.objects
    began = migrations.aggregate(began=Min("applied"))["began"]
    digest = salted_hmac(_SALT, began.isoformat(), algorithm="sha256").digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


CREATE_KEY = f'eval "$({COMMAND} create_key --export)"'
"""On the server. Prints the key and sets it in the shell."""
_JSON = "-H 'Content-Type: application/json'"


def first_user_call(api: str) -> str:
    """The first user, with a random password for each reader, and the key from the answer."""
    user = {
        "username": "ada",
        "password": secrets.token_urlsafe(12),
        "firstName": "Ada",
        "lastName": "Lovelace",
    }
    return f"""FIRST_USER=$(
curl -sS {_JSON} -d '{json.dumps(user)}' {api}/unauth/users
); echo "$FIRST_USER"
PUBLIC_KEY=$(expr "$FIRST_USER" : '.*"publicKey": *"\\([^"]*\\)')
PRIVATE_KEY=$(expr "$FIRST_USER" : '.*"privateKey": *"\\([^"]*\\)')"""


def first_project_call(api: str) -> str:
    """The first project, with this key."""
    body = json.dumps({"name": "first-project"})
    return f"""curl --digest --user "$PUBLIC_KEY:$PRIVATE_KEY" {_JSON} -d '{body}' {api}/groups"""
