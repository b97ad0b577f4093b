"""The access lists of keys, below each route on which the key can be changed."""

from collections.abc import Mapping

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import (
    READ_GLOBAL,
    READ_ORG,
    READ_PROJECT,
    WRITE_GLOBAL,
    WRITE_ORG,
    WRITE_PROJECT_ACCESS,
)
from accesslist.rules.access_lists import AccessList, refuse_keys_beyond
from accesslist.selectors.access_lists import entries_of, listed_key
from accesslist.serializers.access_lists import (
    KeyAccessListEntryDocument,
    KeyAccessListEntryInput,
    new_entries,
)
from accesslist.services.access_lists import access_list_entries_create, access_list_entry_delete
from accesslist.views.access_lists import AccessListViewSet
from accesslist.views.base import InGroup, InInstallation, InOrg, PlaceViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.permissions import Access
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts


def _access(read: Access, write: Access) -> Mapping[str, Access]:
    return {"index": read, "retrieve": read, "create": write, "destroy": write}


class KeyAccessListViewSet(PlaceViewSet, AccessListViewSet):
    """The access list of a key. Each subclass has a path and its permissions."""

    parameters = {"index": LISTING, "create": LISTING}
    bodies = {"create": [KeyAccessListEntryInput]}
    answers = {
        "index": [KeyAccessListEntryDocument],
        "retrieve": KeyAccessListEntryDocument,
        "create": [KeyAccessListEntryDocument],
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        action: (*codes, ErrorCode.CANNOT_WIDEN_OWN_ACCESS_LIST)
        for action, codes in AccessListViewSet.refusals.items()
    }
    identifiers = {
        "key_id": ErrorCode.INVALID_API_KEY_ID,
        "key_entry_id": ErrorCode.INVALID_ACCESS_LIST_ENTRY_ID,
    }

    entry: Facts

    def load(self) -> None:
        """The key of the path, which must have a role in the scope, and its entry."""
        key_id = self.kwargs["key_id"]
        row = listed_key(key_id)
        key = get_or_404(
            row if row and row.is_within(self.here) else None, ErrorCode.API_KEY_NOT_FOUND, key_id
        )
        self.of = AccessList(key.id, key.public_key, self.here)
        if self.action in {"create", "destroy"}:
            refuse_keys_beyond(key.grants, by=self.caller.grants)
        if "key_entry_id" in self.kwargs:
            self.entry = self.find(KeyAccessListEntryDocument, self.kwargs["key_entry_id"])

    def index(self, request: Request, **path: str) -> Response:
        """List the entries of the key's access list."""
        return self.list_of(KeyAccessListEntryDocument, entries_of(self.of.key_id))

    def retrieve(self, request: Request, **path: str) -> Response:
        """Get an entry."""
        return self.alone(KeyAccessListEntryDocument, self.entry)

    def create(self, request: Request, **path: str) -> Response:
        """Add entries to the key's access list, all or none. The response contains the whole list."""
        new = new_entries(self.body_array())
        access_list_entries_create(of=self.of, new=new, by=self.writer, now=self.now)
        return self.index(request)

    def destroy(self, request: Request, **path: str) -> Response:
        """Delete an entry. Without entries, the key can call from all addresses."""
        access_list_entry_delete(of=self.of, entry_id=self.entry["id"], by=self.writer, now=self.now)
        return Response()


class GroupKeyAccessListViewSet(InGroup, KeyAccessListViewSet):
    """`/groups/{id}/apiKeys/{id}/accessList`."""

    access = _access(READ_PROJECT, WRITE_PROJECT_ACCESS)


class OrgKeyAccessListViewSet(InOrg, KeyAccessListViewSet):
    """`/orgs/{id}/apiKeys/{id}/accessList`."""

    access = _access(READ_ORG, WRITE_ORG)


class InstallationKeyAccessListViewSet(InInstallation, KeyAccessListViewSet):
    """`/admin/apiKeys/{id}/accessList`."""

    access = _access(READ_GLOBAL, WRITE_GLOBAL)
