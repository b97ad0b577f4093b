"""Organizations and projects: created, listed, read, changed, deleted."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import CREATE_ORGS, PROJECT_CREATORS, READ_ORG, READ_PROJECT, WRITE_ORG, WRITE_PROJECT
from accesslist.projects.changes import (
    organization_create,
    organization_delete,
    organization_update,
    project_create,
    project_delete,
    project_update,
)
from accesslist.projects.resource import OrganizationDocument, ProjectChange, ProjectDocument
from accesslist.projects.store import (
    organizations,
    projects,
    visible_organizations,
    visible_projects,
    visible_projects_of,
)
from accesslist.rows import named, names_beginning, with_id
from accesslist.views import KeyViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import needs_role
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING, NAME
from opsapi.api.resources import Facts
from opsapi.api.views import answers_of
from opsapi.roles import Role


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
        **answers_of(OrganizationDocument),
        "by_name": OrganizationDocument,
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
            rows = named(visible_organizations(self.caller.grants), name=name)
            self.org = OrganizationDocument.found(rows, ErrorCode.ORG_NAME_NOT_FOUND, name)

    def index(self, request: Request) -> Response:
        """List the organizations that the caller is a member of."""
        visible = visible_organizations(self.caller.grants)
        return self.list_of(OrganizationDocument, names_beginning(visible, name=self.query["name"]))

    def create(self, request: Request) -> Response:
        """Create an organization."""
        org = organization_create(values=self.body(), actor=self.actor, now=self.now)
        return self.alone(OrganizationDocument, self._stored(org.id))

    def by_name(self, request: Request, org_name: str) -> Response:
        """Get the oldest organization with this name that the caller is a member of."""
        return self.alone(OrganizationDocument, self.org)

    def retrieve(self, request: Request, org_id: str) -> Response:
        """Get an organization."""
        return self.alone(OrganizationDocument, self.org)

    def update(self, request: Request, org_id: str) -> Response:
        """Rename an organization."""
        changes = self.body(stored=self.org)
        organization_update(org_id=org_id, changes=changes, actor=self.actor, now=self.now)
        return self.alone(OrganizationDocument, self._stored(org_id))

    def destroy(self, request: Request, org_id: str) -> Response:
        """Delete an organization without projects."""
        organization_delete(org_id=org_id, actor=self.actor, now=self.now)
        return Response()

    def projects(self, request: Request, org_id: str) -> Response:
        """List the projects of the organization that the caller can read."""
        visible = visible_projects_of(org_id, self.caller.grants)
        return self.list_of(ProjectDocument, names_beginning(visible, name=self.query["name"]))

    def _stored(self, org_id: str) -> Facts:
        return OrganizationDocument.found(with_id(organizations(), org_id), ErrorCode.ORG_NOT_FOUND, org_id)


class ProjectViewSet(KeyViewSet):
    """`/groups`, `/groups/byName/{name}` and `/groups/{id}`."""

    access = {
        "index": ANY_KEY,
        "create": ANY_KEY,
        "by_name": ANY_KEY,
        "retrieve": READ_PROJECT,
        "update": WRITE_PROJECT,
        "destroy": WRITE_PROJECT,
    }
    parameters = {"index": (*LISTING, NAME)}
    bodies = {"create": ProjectDocument, "update": ProjectChange}
    answers = {**answers_of(ProjectDocument), "by_name": ProjectDocument}
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "create": (ErrorCode.USER_UNAUTHORIZED, ErrorCode.ORG_NOT_FOUND, ErrorCode.GROUP_ALREADY_EXISTS),
        "by_name": (ErrorCode.GROUP_NAME_NOT_FOUND,),
        "update": (ErrorCode.GROUP_ALREADY_EXISTS,),
    }

    project: Facts

    def load(self) -> None:
        """Load the project of the path; refuse callers who may create no project, before the body is read."""
        if "group_id" in self.kwargs:
            self.project = self._stored(self.kwargs["group_id"])
        elif "group_name" in self.kwargs:
            name = self.kwargs["group_name"]
            rows = named(visible_projects(self.caller.grants), name=name)
            self.project = ProjectDocument.found(rows, ErrorCode.GROUP_NAME_NOT_FOUND, name)
        elif self.action == "create" and not self._makes_some:
            raise needs_role(sorted(PROJECT_CREATORS))

    def index(self, request: Request) -> Response:
        """List the projects that the caller can read."""
        visible = visible_projects(self.caller.grants)
        return self.list_of(ProjectDocument, names_beginning(visible, name=self.query["name"]))

    def create(self, request: Request) -> Response:
        """Create a project, with `orgId` in that organization; without `orgId`, you need GLOBAL_OWNER."""
        body = self.body()
        if org_id := body.get("org_id"):
            self.principal.authorise_org((Role.ORG_OWNER, Role.ORG_GROUP_CREATOR), org_id)
        else:
            self.principal.authorise((Role.GLOBAL_OWNER,))
        project = project_create(
            values=body, owned_by_creator=not self.caller.is_global, actor=self.actor, now=self.now
        )
        return self.alone(ProjectDocument, self._stored(project.id))

    def by_name(self, request: Request, group_name: str) -> Response:
        """Get the project with this name, if the caller can read it."""
        return self.alone(ProjectDocument, self.project)

    def retrieve(self, request: Request, group_id: str) -> Response:
        """Get a project."""
        return self.alone(ProjectDocument, self.project)

    def update(self, request: Request, group_id: str) -> Response:
        """Change the name or the tags of a project."""
        changes = self.body(stored=self.project)
        project_update(group_id=group_id, changes=changes, actor=self.actor, now=self.now)
        return self.alone(ProjectDocument, self._stored(group_id))

    def destroy(self, request: Request, group_id: str) -> Response:
        """Delete a project with all its contents, except its events."""
        project_delete(group_id=group_id, actor=self.actor, now=self.now)
        return Response()

    @property
    def _makes_some(self) -> bool:
        """Whether the caller can create projects in any scope."""
        return self.caller.holds_somewhere(PROJECT_CREATORS)

    def _stored(self, group_id: str) -> Facts:
        return ProjectDocument.found(with_id(projects(), group_id), ErrorCode.GROUP_NOT_FOUND, group_id)
