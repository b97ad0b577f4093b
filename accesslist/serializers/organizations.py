"""Organizations as the API shows and accepts them."""

from opsapi.api.documents import LinkDocument
from opsapi.api.fields import PathName, ShownId
from opsapi.api.resources import Resource


class OrganizationDocument(Resource):
    """An organization."""

    path = "/orgs/{id}"
    relations = {name: f"/orgs/{{id}}/{name}" for name in ("groups", "apiKeys", "teams", "users", "events")}

    id = ShownId(read_only=True)
    name = PathName(max_length=200, example="finance")
    links = LinkDocument(many=True, read_only=True)
