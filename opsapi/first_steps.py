"""Commands that create the first user and the first project without a browser, for the login page."""

import json
import secrets

from opsapi.program import COMMAND

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
