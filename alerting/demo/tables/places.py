"""Organizations and projects."""

from dataclasses import dataclass

ORGANIZATIONS = ("Harbour Bank", "Fernhill Logistics", "Brightside")
RENAMED = ("Brightside", "Brightside Media")
"""The name an organization is given in the course of the day."""


@dataclass(frozen=True, slots=True)
class ProjectSpec:
    """A project and the organization it is in."""

    name: str
    org: str
    tags: tuple[str, ...]


PROJECTS = (
    ProjectSpec("payments", "Harbour Bank", ("production", "pci")),
    ProjectSpec("customer-accounts", "Harbour Bank", ("production",)),
    ProjectSpec("parcel-tracking", "Fernhill Logistics", ("production",)),
    ProjectSpec("route-planning", "Fernhill Logistics", ("production",)),
    ProjectSpec("catalogue", "Brightside", ("production", "media")),
    ProjectSpec("recommendations", "Brightside", ("staging", "media")),
)
