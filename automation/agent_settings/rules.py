"""Connection strings of MongoDB and PostgreSQL: their faults, and their redacted form. Pure.

Only strings without faults are stored, so that the redacted form has no part of a password: user and password
are percent-encoded, and every option has a name. The messages quote nothing of a string.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import unquote

from automation.desired_state.document.secrets import Surroundings, partners
from automation.metrics import Engine
from opsapi.hostnames import canonical_hostname, name_and_port
from opsapi.redaction import MASK

MOST_STRINGS = 50
"""The most connection strings that a project has for an engine."""
LONGEST_STRING = 4000
"""The most characters of a connection string."""

_HIGHEST_PORT = 65_535
_SECRET_OPTIONS = frozenset({"authmechanismproperties", "scram_client_key", "scram_server_key"})
"""Options with secrets whose names do not say it, such as the session token of AWS."""
# An @ is only there after the user info: `user:12/x@host` has a password with a slash, which is no port.
_PARTS = re.compile(
    r"(?P<scheme>[a-z+]+)://"
    r"(?:(?P<user>[^:/?#@\[\]]*)(?::(?P<password>[^:/?#@\[\]]*))?@)?"
    r"(?P<hosts>[^/?#@]*)"
    r"(?P<path>/[^?#@]*)?"
    r"(?:\?(?P<query>[^#@]*))?"
)
_BLANK = re.compile(r"\s")
_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class StringForm:
    """The form of the connection strings of an engine.

    `form` shows it in messages. `lookup` is the scheme of a single name that DNS resolves to servers.
    `host_options` can name servers instead of the authority. `refused` are the options that only have a
    meaning on one machine.
    """

    engine: Engine
    schemes: tuple[str, ...]
    form: str
    lookup: str = ""
    host_options: Collection[str] = ()
    refused: Collection[str] = ()

    def fault(self, text: str) -> str | None:
        """Return why the text is no connection string of the engine; None if it is."""
        match = _PARTS.fullmatch(text)
        if match is None or match["scheme"] not in self.schemes or _BLANK.search(text):
            return f"is not a connection string: {self.form}"
        if _NO_ESCAPE.search(text):
            return "has a % that is not part of an escape: write it as %25"
        if match["password"] and not match["user"]:
            return "has a password without a user"
        return self._option_fault(match["query"] or "") or self._host_fault(match)

    def is_on_machine(self, text: str, hostnames: Collection[str]) -> bool:
        """Return whether all servers of a string without faults are on the machine with these names.

        A server of a loopback address is on the machine of each agent. Servers that DNS or options name can
        be on any machine. `hostnames` are in lower case.
        """
        match = _PARTS.fullmatch(text)
        if match is None or match["scheme"] == self.lookup or _option_names(match) & set(self.host_options):
            return False
        names = [_host_name(host) for host in match["hosts"].split(",")]
        return all(name is not None and (name in hostnames or _is_loopback(name)) for name in names)

    def _option_fault(self, query: str) -> str | None:
        for option in query.split("&") if query else ():
            name, is_pair, _ = option.partition("=")
            if not name or not is_pair or (self.engine is Engine.MONGODB and ";" in option):
                return "has a wrong option: write NAME=VALUE, and & between options"
            if unquote(name).lower() in self.refused:
                return f"must not have the options {', '.join(sorted(self.refused))}"
        return None

    def _host_fault(self, match: re.Match[str]) -> str | None:
        hosts = match["hosts"].split(",")
        if match["scheme"] == self.lookup:
            is_name = len(hosts) == 1 and ":" not in hosts[0] and canonical_hostname(hosts[0]) is not None
            return None if is_name else "must have exactly one host name, without a port"
        if match["hosts"] == "" and _option_names(match) & set(self.host_options):
            return None
        if all(map(_is_host, hosts)):
            return None
        return (
            "has a server that is not a host name (RFC 1123) or an IP address, with a port from 1 to "
            f"{_HIGHEST_PORT}"
        )


FORMS = {
    Engine.MONGODB: StringForm(
        engine=Engine.MONGODB,
        schemes=("mongodb", "mongodb+srv"),
        lookup="mongodb+srv",
        form="mongodb://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/[DATABASE][?OPTIONS]], or "
        "mongodb+srv:// with one NAME; in user and password, characters such as @ : / ? # % are "
        "percent-encoded",
    ),
    Engine.POSTGRESQL: StringForm(
        engine=Engine.POSTGRESQL,
        schemes=("postgresql", "postgres"),
        host_options=("host", "hostaddr"),
        # A password comes with the string: files of passwords and services are on a single machine.
        refused=("passfile", "service", "servicefile"),
        form="postgresql://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?OPTIONS]; in user and "
        "password, characters such as @ : / ? # % are percent-encoded",
    ),
}


def redacted_string(text: str) -> str:
    """Return a connection string without faults with `******` for its password and secret options."""
    match = _PARTS.fullmatch(text)
    if match is None:
        return MASK
    password = f":{MASK}" if match["password"] else ""
    user = "" if match["user"] is None else f"{match['user']}{password}@"
    query = match["query"]
    options = "" if query is None else f"?{'&'.join(map(_redacted_option, query.split('&')))}"
    return f"{match['scheme']}://{user}{match['hosts']}{match['path'] or ''}{options}"


def shown_again(engine: Engine, typed: Sequence[str], *, stored: Collection[str]) -> list[str]:
    """Return typed strings as a page may show them again: redacted, or only `******`.

    Without the form of a connection string, any part of a text can be a part of the password. A typed string
    with a new password must not look like one of the redacted `stored` strings, and keep the old password.
    """
    return [_shown_again(text, FORMS[engine].fault(text), stored) for text in typed]


def _shown_again(typed: str, fault: str | None, stored: Collection[str]) -> str:
    redacted = redacted_string(typed)
    return MASK if fault or (redacted != typed and redacted in stored) else redacted


def is_redacted(text: str) -> bool:
    """Whether a sent string means a stored string."""
    return MASK in text


def stored_partners(
    sent: Sequence[str], redacted: Sequence[str], stored: Sequence[str] | None
) -> list[str | None]:
    """Return the stored string that each sent string means; None if that is unknown or ambiguous.

    A string in full means itself. `shown` are the redacted forms of `stored`, which is None if the stored
    strings cannot be decrypted.
    """
    places = partners(sent, redacted, array="")
    return [
        _meant(text, place, redacted, stored) if is_redacted(text) else text
        for text, place in zip(sent, places, strict=True)
    ]


def _meant(text: str, place: int | None, redacted: Sequence[str], stored: Sequence[str] | None) -> str | None:
    return stored[place] if stored is not None and place is not None and redacted[place] == text else None


def replaced_strings(old: Sequence[str] | None, new: Sequence[str]) -> list[str]:
    """Return the redacted new strings for an event, with `(replaced)` if only a secret has changed.

    `old` is None if the strings before cannot be decrypted: then every secret counts as replaced.
    """
    before = {redacted_string(text) for text in old or ()}
    return [
        f"{redacted} (replaced)"
        if is_redacted(redacted) and (old is None or (redacted in before and text not in old))
        else redacted
        for text in new
        for redacted in [redacted_string(text)]
    ]


def _redacted_option(option: str) -> str:
    name, _, value = option.partition("=")
    plain = unquote(name).lower()
    is_secret = plain in _SECRET_OPTIONS or Surroundings().below(plain).secret
    return f"{name}={MASK}" if is_secret and value else option


def _option_names(match: re.Match[str]) -> set[str]:
    return {unquote(option.partition("=")[0]).lower() for option in (match["query"] or "").split("&")}


def _is_host(text: str) -> bool:
    port = name_and_port(text)[1]
    return _host_name(text) is not None and (port is None or 1 <= port <= _HIGHEST_PORT)


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _host_name(text: str) -> str | None:
    """The name of a server of a connection string in lower case; None if it has no valid name."""
    name, port = name_and_port(text)
    name = name[1:-1] if port is None and name.startswith("[") and name.endswith("]") else name
    canonical = canonical_hostname(name)
    return canonical.lower() if canonical else None
