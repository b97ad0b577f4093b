"""Projects: made, listed, read (decisions 3 "from first key to a project")."""

from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.principal import KeyPrincipal
from accesslist.selectors.projects import project_rows, visible_project_rows
from accesslist.serializers.projects import ProjectDocument, present_project
from accesslist.services.projects import project_create
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.permissions import ANY_KEY, in_group
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet
from opsapi.roles import IMPLIED, Role

_MAKERS = frozenset({Role.GLOBAL_OWNER, Role.ORG_OWNER, Role.ORG_GROUP_CREATOR})


class ProjectViewSet(ApiViewSet):
    """`/groups` and `/groups/{id}`."""

    access = {"index": ANY_KEY, "create": ANY_KEY, "retrieve": in_group(Role.GROUP_READ_ONLY)}
    parameters = {"index": LISTING}
    bodies = {"create": ProjectDocument}
    answers = {"index": [ProjectDocument], "create": ProjectDocument, "retrieve": ProjectDocument}
    statuses = {"create": 201}

    def load(self) -> None:
        """A caller who may make projects nowhere is told so before the body is looked at."""
        makes_some = any(IMPLIED[grant.role] & _MAKERS for grant in self._caller.grants)
        if self.action == "create" and not makes_some:
            raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(sorted(_MAKERS)))

    def index(self, request: Request) -> Response:
        """The projects the caller can read."""
        rows = visible_project_rows(self._caller.grants)
        return self.list(rows, lambda row: present_project(row, self.links))

    def create(self, request: Request) -> Response:
        """A new project: with orgId for those who may make projects there, without for Global Owners."""
        body = self.body()
        self._authorise_creation(body.get("orgId"))
        project = project_create(
            name=body["name"],
            org_id=body.get("orgId"),
            tags=body.get("tags", []),
            owned_by_maker=not self._caller.is_global,
            actor=self.actor,
            now=self.now,
        )
        row = project_rows().get(id=project.id)
        return Response(present_project(row, self.links, alone=True), status=201)

    def retrieve(self, request: Request, group_id: str) -> Response:
        """One project."""
        return Response(present_project(project_rows().get(id=group_id), self.links, alone=True))

    @property
    def _caller(self) -> KeyPrincipal:
        return cast(KeyPrincipal, self.request.auth)

    def _authorise_creation(self, org_id: str | None) -> None:
        """Where the role is needed depends on the body, so it is asked for here."""
        if org_id:
            self.principal.authorise_org((Role.ORG_OWNER, Role.ORG_GROUP_CREATOR), org_id)
        else:
            self.principal.authorise((Role.GLOBAL_OWNER,))
