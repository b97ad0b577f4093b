"""Projects: created, listed, read, changed, deleted."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import PROJECT_CREATORS, READ_PROJECT, WRITE_PROJECT
from accesslist.selectors.names import names_beginning
from accesslist.selectors.projects import (
    ProjectRow,
    project_facts,
    project_row,
    visible_project_by_name,
    visible_project_rows,
)
from accesslist.serializers.projects import ProjectChange, ProjectDocument, present_project
from accesslist.services.projects import project_create, project_delete, project_update
from accesslist.views.base import KeyViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, found
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING, NAME
from opsapi.roles import IMPLIED, Role


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
    answers = {
        "index": [ProjectDocument],
        "create": ProjectDocument,
        "by_name": ProjectDocument,
        "retrieve": ProjectDocument,
        "update": ProjectDocument,
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "create": (ErrorCode.USER_UNAUTHORIZED, ErrorCode.ORG_NOT_FOUND, ErrorCode.GROUP_ALREADY_EXISTS),
        "by_name": (ErrorCode.GROUP_NAME_NOT_FOUND,),
        "update": (ErrorCode.GROUP_ALREADY_EXISTS,),
    }

    project: ProjectRow

    def load(self) -> None:
        """The project of the path; who may make projects nowhere is told before the body is looked at."""
        if "group_id" in self.kwargs:
            self.project = self._row(self.kwargs["group_id"])
        elif "group_name" in self.kwargs:
            name = self.kwargs["group_name"]
            row = visible_project_by_name(name, self.caller.grants)
            self.project = found(row, ErrorCode.GROUP_NAME_NOT_FOUND, name)
        elif self.action == "create" and not self._makes_some:
            raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(sorted(PROJECT_CREATORS)))

    def index(self, request: Request) -> Response:
        """The projects the caller can read."""
        rows = names_beginning(visible_project_rows(self.caller.grants), name=self.query["name"])
        return self.list(rows, lambda row: present_project(row, self.links))

    def create(self, request: Request) -> Response:
        """A new project: with orgId for those who may make projects there, without for Global Owners."""
        body = self.body()
        self._authorise_creation(body.get("orgId"))
        project = project_create(
            name=body["name"],
            org_id=body.get("orgId"),
            tags=body.get("tags", []),
            owned_by_maker=not self.caller.is_global,
            actor=self.actor,
            now=self.now,
        )
        return Response(present_project(self._row(project.id), self.links, alone=True))

    def by_name(self, request: Request, group_name: str) -> Response:
        """The project of that name, if the caller can read it."""
        return Response(present_project(self.project, self.links, alone=True))

    def retrieve(self, request: Request, group_id: str) -> Response:
        """One project."""
        return Response(present_project(self.project, self.links, alone=True))

    def update(self, request: Request, group_id: str) -> Response:
        """Changes its name or tags."""
        changes = self.body(stored=project_facts(self.project))
        project_update(group_id=group_id, changes=changes, actor=self.actor, now=self.now)
        return Response(present_project(self._row(group_id), self.links, alone=True))

    def destroy(self, request: Request, group_id: str) -> Response:
        """Deletes it, with everything in it but its events."""
        project_delete(group_id=group_id, actor=self.actor, now=self.now)
        return Response()

    @property
    def _makes_some(self) -> bool:
        """Whether the caller may make projects anywhere."""
        return any(IMPLIED[grant.role] & PROJECT_CREATORS for grant in self.caller.grants)

    def _row(self, group_id: str) -> ProjectRow:
        return found(project_row(group_id), ErrorCode.GROUP_NOT_FOUND, group_id)

    def _authorise_creation(self, org_id: str | None) -> None:
        """Where the role is needed depends on the body, so it is asked for here."""
        if org_id:
            self.principal.authorise_org((Role.ORG_OWNER, Role.ORG_GROUP_CREATOR), org_id)
        else:
            self.principal.authorise((Role.GLOBAL_OWNER,))
