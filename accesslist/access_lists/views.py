"""Endpoints of access lists: of all keys with a global role, and of a key."""

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
from accesslist.access_lists.changes import (
    access_list_entries_create,
    access_list_entry_delete,
    access_list_entry_update,
)
from accesslist.access_lists.resource import (
    AccessListEntryChange,
    AccessListEntryDocument,
    AccessListEntryInput,
    KeyAccessListEntryDocument,
    KeyAccessListEntryInput,
    new_entries,
)
from accesslist.access_lists.rules import GLOBAL_LIST, AccessList, ListWriter, refuse_keys_beyond
from accesslist.access_lists.store import entries_of
from accesslist.keys.store import listed_key
from accesslist.rows import with_id
from accesslist.views import KeyViewSet, PlaceViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts, Resource
from opsapi.api.views import answers_of, read_write

_LOCKED_OUT = ErrorCode.CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST
_THERE = ErrorCode.ADDRESS_ALREADY_IN_ACCESS_LIST


class AccessListViewSet(KeyViewSet):
    """The common parts of the views of access lists."""

    refusals = {"create": [_LOCKED_OUT, _THERE], "update": [_LOCKED_OUT, _THERE], "destroy": [_LOCKED_OUT]}

    of: AccessList = GLOBAL_LIST
    """The list of the path."""

    @property
    def writer(self) -> ListWriter:
        """The caller, and whether lists apply to the caller's address."""
        return ListWriter(self.actor, self.caller.is_exempt)

    def find(self, resource: type[Resource], entry_id: str) -> Facts:
        """Return an entry of the list."""
        rows = with_id(entries_of(self.of.key_id), entry_id)
        return resource.found(rows, ErrorCode.ACCESS_LIST_ENTRY_NOT_FOUND, entry_id)


class GlobalAccessListViewSet(AccessListViewSet):
    """`/admin/accessList`: addresses from which keys with a global role can call."""

    access = read_write(READ_GLOBAL, WRITE_GLOBAL)
    parameters = {"index": LISTING}
    bodies = {"create": AccessListEntryInput, "update": AccessListEntryChange}
    answers = answers_of(AccessListEntryDocument)
    statuses = {"destroy": 204}
    identifiers = {"entry_id": ErrorCode.INVALID_ACCESS_LIST_ENTRY_ID}

    entry: Facts

    def load(self) -> None:
        """The entry of the path."""
        if "entry_id" in self.kwargs:
            self.entry = self.find(AccessListEntryDocument, self.kwargs["entry_id"])

    def index(self, request: Request) -> Response:
        """List the entries of the global access list."""
        return self.list_of(AccessListEntryDocument, entries_of(None))

    def retrieve(self, request: Request, entry_id: str) -> Response:
        """Get an entry."""
        return self.alone(AccessListEntryDocument, self.entry)

    def create(self, request: Request) -> Response:
        """Add an entry to the global access list."""
        (entry,) = access_list_entries_create(of=self.of, new=[self.body()], by=self.writer, now=self.now)
        return self.alone(AccessListEntryDocument, self.find(AccessListEntryDocument, entry.id))

    def update(self, request: Request, entry_id: str) -> Response:
        """Change the range or the description of an entry. A document that was read can be written back."""
        changes = self.body(stored=self.entry)
        access_list_entry_update(of=self.of, entry_id=entry_id, changes=changes, by=self.writer, now=self.now)
        return self.alone(AccessListEntryDocument, self.find(AccessListEntryDocument, entry_id))

    def destroy(self, request: Request, entry_id: str) -> Response:
        """Delete an entry. A list without entries no longer applies."""
        access_list_entry_delete(of=self.of, entry_id=entry_id, by=self.writer, now=self.now)
        return Response()


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


class GroupKeyAccessListViewSet(KeyAccessListViewSet):
    """`/groups/{id}/apiKeys/{id}/accessList`."""

    access = read_write(READ_PROJECT, WRITE_PROJECT_ACCESS)


class OrgKeyAccessListViewSet(KeyAccessListViewSet):
    """`/orgs/{id}/apiKeys/{id}/accessList`."""

    access = read_write(READ_ORG, WRITE_ORG)


class InstallationKeyAccessListViewSet(KeyAccessListViewSet):
    """`/admin/apiKeys/{id}/accessList`."""

    access = read_write(READ_GLOBAL, WRITE_GLOBAL)
