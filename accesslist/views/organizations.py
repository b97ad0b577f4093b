"""Organizations: created, listed, read, renamed, deleted."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import CREATE_ORGS, READ_ORG, WRITE_ORG
from accesslist.selectors.organizations import (
    named,
    names_beginning,
    organization_of,
    visible_organizations,
    visible_projects,
)
from accesslist.serializers.organizations import OrganizationDocument, ProjectDocument
from accesslist.services.organizations import (
    organization_create,
    organization_delete,
    organization_rename,
)
from accesslist.views.base import KeyViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING, NAME
from opsapi.api.resources import Facts


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

    org: Facts

    def load(self) -> None:
        """The organization of the path."""
        if "org_id" in self.kwargs:
            self.org = self._stored(self.kwargs["org_id"])
        elif "org_name" in self.kwargs:
            name = self.kwargs["org_name"]
            oldest = OrganizationDocument.first(named(visible_organizations(self.caller.grants), name=name))
            self.org = get_or_404(oldest, ErrorCode.ORG_NAME_NOT_FOUND, name)

    def index(self, request: Request) -> Response:
        """List the organizations that the caller is a member of."""
        visible = visible_organizations(self.caller.grants)
        return self.list_of(OrganizationDocument, names_beginning(visible, name=self.query["name"]))

    def create(self, request: Request) -> Response:
        """Create an organization."""
        org = organization_create(name=self.body()["name"], actor=self.actor, now=self.now)
        return self.alone(OrganizationDocument, self._stored(org.id))

    def by_name(self, request: Request, org_name: str) -> Response:
        """Get the oldest organization with this name that the caller is a member of."""
        return self.alone(OrganizationDocument, self.org)

    def retrieve(self, request: Request, org_id: str) -> Response:
        """Get an organization."""
        return self.alone(OrganizationDocument, self.org)

    def update(self, request: Request, org_id: str) -> Response:
        """Rename an organization."""
        name = self.body(stored=self.org)["name"]
        organization_rename(org_id=org_id, name=name, actor=self.actor, now=self.now)
        return self.alone(OrganizationDocument, self._stored(org_id))

    def destroy(self, request: Request, org_id: str) -> Response:
        """Delete an organization without projects."""
        organization_delete(org_id=org_id, actor=self.actor, now=self.now)
        return Response()

    def projects(self, request: Request, org_id: str) -> Response:
        """List the projects of the organization that the caller can read."""
        visible = visible_projects(self.caller.grants).filter(org_id=org_id)
        return self.list_of(ProjectDocument, names_beginning(visible, name=self.query["name"]))

    def _stored(self, org_id: str) -> Facts:
        org = OrganizationDocument.first(organization_of(org_id))
        return get_or_404(org, ErrorCode.ORG_NOT_FOUND, org_id)
