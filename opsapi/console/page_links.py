"""Links of the navigation to pages without a list. Apps contribute `page_links` of their AppConfig."""

from dataclasses import dataclass

from opsapi.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLink:
    """A page of the console that belongs to the whole installation.

    `name`: the name of its URL. `icon`: a name of Material Symbols. `role`: the role that sees the page.
    `help`: its document and heading, below `docs/`.
    """

    name: str
    title: str
    icon: str
    role: Role
    help: str
