"""Users, teams, keys, and where they may call from."""

from collections.abc import Mapping
from dataclasses import dataclass

from opsapi.roles import Role

Places = tuple[str, ...]
_EVERYWHERE: Places = ("",)


@dataclass(frozen=True, slots=True)
class UserSpec:
    """A user: holds the role in each of `places`, organizations or projects; acts from `address`."""

    username: str
    first_name: str
    last_name: str
    address: str
    role: Role
    places: Places = _EVERYWHERE


INES, MIRA, TOMAS = "ines@audit.example", "mira@harbour.example", "tomas@harbour.example"
YUKI, LENA, SAMIR = "yuki@fernhill.example", "lena@fernhill.example", "samir@brightside.example"

USERS = (
    UserSpec(INES, "Ines", "Moreau", "192.0.2.41", Role.GLOBAL_READ_ONLY),
    UserSpec(MIRA, "Mira", "Lindqvist", "198.51.100.17", Role.ORG_OWNER, ("Harbour Bank",)),
    UserSpec(
        TOMAS,
        "Tomas",
        "Oduya",
        "198.51.100.23",
        Role.GROUP_MONITORING_ADMIN,
        ("payments", "customer-accounts"),
    ),
    UserSpec(YUKI, "Yuki", "Tanabe", "203.0.113.8", Role.GROUP_OWNER, ("parcel-tracking", "route-planning")),
    UserSpec(LENA, "Lena", "Brandt", "203.0.113.9", Role.GROUP_READ_ONLY, ("parcel-tracking",)),
    UserSpec(SAMIR, "Samir", "Haddad", "198.51.100.77", Role.GROUP_OWNER, ("catalogue", "recommendations")),
)


@dataclass(frozen=True, slots=True)
class TeamSpec:
    """A team of an organization, and its role in some of its projects."""

    name: str
    org: str
    members: tuple[str, ...]
    role: Role
    groups: tuple[str, ...]


ON_CALL, NIGHT_SHIFT = "payments on-call", "night shift"
TEAMS = (
    TeamSpec(ON_CALL, "Harbour Bank", (MIRA, TOMAS), Role.GROUP_MONITORING_ADMIN, ("payments",)),
    TeamSpec(
        NIGHT_SHIFT,
        "Fernhill Logistics",
        (YUKI, LENA),
        Role.GROUP_MONITORING_ADMIN,
        ("parcel-tracking", "route-planning"),
    ),
)


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A key; `listed` is its own access list, each range with its description."""

    desc: str
    role: Role
    places: Places
    address: str
    listed: Mapping[str, str]


DEPLOYS, STATUS_PAGE, REPORTING = "deployment pipeline", "status page", "monthly reporting"
_RUNNERS = {"203.0.113.56/29": "build runners"}
KEYS = (
    KeySpec(DEPLOYS, Role.GROUP_OWNER, ("catalogue",), "203.0.113.60", _RUNNERS),
    KeySpec(STATUS_PAGE, Role.GROUP_READ_ONLY, ("payments", "parcel-tracking"), "203.0.113.90", {}),
    KeySpec(REPORTING, Role.ORG_READ_ONLY, ("Harbour Bank",), "198.51.100.40", {}),
)
AGENTS_ADDRESS = "192.0.2.100"


def agents_key(group: str) -> str:
    """The description of the key that a project's agents report with."""
    return f"agents of {group}"


LISTED = {
    "127.0.0.0/8": "this machine",
    "::1/128": "this machine",
    "10.0.0.0/8": "office network",
    "172.16.0.0/12": "office network",
    "192.168.0.0/16": "office network",
    "192.0.2.0/24": "operations",
}
"""The global access list: whoever tries the demonstration comes from one of the first five."""
