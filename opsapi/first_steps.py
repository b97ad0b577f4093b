"""Commands that create the first project for an existing first user, for the login page."""

import json

from opsapi.program import COMMAND

CREATE_KEY = f'eval "$({COMMAND} create_key --export)"'
"""On the server. Prints the key and sets it in the shell."""


def first_project_call(api: str) -> str:
    """The first project, with this key."""
    body = json.dumps({"name": "first-project"})
    content = "-H 'Content-Type: application/json'"
    return f"""curl --digest --user "$PUBLIC_KEY:$PRIVATE_KEY" {content} -d '{body}' {api}/groups"""
