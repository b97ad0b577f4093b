"""Clusters of hosts."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ
from automation.selectors.clusters import ClusterRow, cluster_row, cluster_rows
from automation.serializers.clusters import ClusterDocument, present_cluster
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet


class ClusterViewSet(ApiViewSet):
    """`/groups/{id}/clusters[/{cluster_id}]`."""

    access = {"index": READ, "retrieve": READ}
    parameters = {"index": LISTING}
    answers = {"index": [ClusterDocument], "retrieve": ClusterDocument}
    identifiers = {"cluster_id": ErrorCode.INVALID_CLUSTER_ID}

    cluster: ClusterRow

    def load(self) -> None:
        """The cluster of the path."""
        if "cluster_id" in self.kwargs:
            row = cluster_row(self.kwargs["cluster_id"], group_id=self.group.id)
            self.cluster = get_or_404(
                row, ErrorCode.CLUSTER_NOT_FOUND, self.kwargs["cluster_id"], self.group.id
            )

    def index(self, request: Request, group_id: str) -> Response:
        """Clusters by name."""
        return self.list(cluster_rows(self.group.id), lambda row: present_cluster(row, self.links))

    def retrieve(self, request: Request, group_id: str, cluster_id: str) -> Response:
        """One cluster."""
        return Response(present_cluster(self.cluster, self.links, alone=True))
