"""Organizations: created, listed, read, renamed, deleted."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import CREATE_ORGS, READ_ORG, WRITE_ORG
from accesslist.selectors.names import names_beginning
from accesslist.selectors.organizations import (
    OrganizationRow,
    organization_row,
    visible_organization_by_name,
    visible_organization_rows,
)
from accesslist.selectors.projects import visible_project_rows
from accesslist.serializers.organizations import OrganizationDocument, present_organization
from accesslist.serializers.projects import ProjectDocument, present_project
from accesslist.services.organizations import (
    organization_create,
    organization_delete,
    organization_rename,
)
from accesslist.views.base import KeyViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING, NAME


class OrganizationViewSet(KeyViewSet):
    """`/orgs`, `/orgs/byName/{name}`, `/orgs/{id}` and the projects below it."""

    access = {
        "index": ANY_KEY,
        "create": CREATE_ORGS,
        "by_name": ANY_KEY,
        "retrieve": READ_ORG,
        "update": WRITE_ORG,
        "destroy": WRITE_ORG,
        "projects": READ_ORG,
    }
    parameters = {"index": (*LISTING, NAME), "projects": (*LISTING, NAME)}
    bodies = {"create": OrganizationDocument, "update": OrganizationDocument}
    answers = {
        "index": [OrganizationDocument],
        "create": OrganizationDocument,
        "by_name": OrganizationDocument,
        "retrieve": OrganizationDocument,
        "update": OrganizationDocument,
        "projects": [ProjectDocument],
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {"by_name": (ErrorCode.ORG_NAME_NOT_FOUND,), "destroy": (ErrorCode.ORG_NOT_EMPTY,)}

    org: OrganizationRow

    def load(self) -> None:
        """The organization of the path."""
        if "org_id" in self.kwargs:
            self.org = self._row(self.kwargs["org_id"])
        elif "org_name" in self.kwargs:
            name = self.kwargs["org_name"]
            row = visible_organization_by_name(name, self.caller.grants)
            self.org = found(row, ErrorCode.ORG_NAME_NOT_FOUND, name)

    def index(self, request: Request) -> Response:
        """The organizations the caller is a member of."""
        rows = names_beginning(visible_organization_rows(self.caller.grants), name=self.query["name"])
        return self.list(rows, lambda row: present_organization(row, self.links))

    def create(self, request: Request) -> Response:
        """A new organization."""
        org = organization_create(name=self.body()["name"], actor=self.actor, now=self.now)
        return Response(present_organization(self._row(org.id), self.links, alone=True))

    def by_name(self, request: Request, org_name: str) -> Response:
        """The oldest organization of that name which the caller is a member of."""
        return Response(present_organization(self.org, self.links, alone=True))

    def retrieve(self, request: Request, org_id: str) -> Response:
        """One organization."""
        return Response(present_organization(self.org, self.links, alone=True))

    def update(self, request: Request, org_id: str) -> Response:
        """Renames it."""
        name = self.body(stored=self.org)["name"]
        organization_rename(org_id=org_id, name=name, actor=self.actor, now=self.now)
        return Response(present_organization(self._row(org_id), self.links, alone=True))

    def destroy(self, request: Request, org_id: str) -> Response:
        """Deletes it; it must have no projects."""
        organization_delete(org_id=org_id, actor=self.actor, now=self.now)
        return Response()

    def projects(self, request: Request, org_id: str) -> Response:
        """The projects of the organization which the caller can read."""
        rows = visible_project_rows(self.caller.grants).filter(org_id=org_id)
        rows = names_beginning(rows, name=self.query["name"])
        return self.list(rows, lambda row: present_project(row, self.links))

    def _row(self, org_id: str) -> OrganizationRow:
        return found(organization_row(org_id), ErrorCode.ORG_NOT_FOUND, org_id)
