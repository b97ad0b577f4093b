"""Clusters of hosts."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ
from automation.selectors.clusters import clusters_of
from automation.serializers.clusters import ClusterDocument
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts
from opsapi.api.views import ApiViewSet


class ClusterViewSet(ApiViewSet):
    """`/groups/{id}/clusters[/{cluster_id}]`."""

    access = {"index": READ, "retrieve": READ}
    parameters = {"index": LISTING}
    answers = {"index": [ClusterDocument], "retrieve": ClusterDocument}
    identifiers = {"cluster_id": ErrorCode.INVALID_CLUSTER_ID}

    cluster: Facts

    def load(self) -> None:
        """The cluster of the path."""
        if "cluster_id" in self.kwargs:
            cluster_id = self.kwargs["cluster_id"]
            cluster = ClusterDocument.first(clusters_of(self.group.id).filter(id=cluster_id))
            self.cluster = get_or_404(cluster, ErrorCode.CLUSTER_NOT_FOUND, cluster_id, self.group.id)

    def index(self, request: Request, group_id: str) -> Response:
        """List clusters by name."""
        return self.list_of(ClusterDocument, clusters_of(self.group.id))

    def retrieve(self, request: Request, group_id: str, cluster_id: str) -> Response:
        """Get a cluster."""
        return self.alone(ClusterDocument, self.cluster)
