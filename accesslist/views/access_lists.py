"""The global access list (endpoints 1 and 2, and the routes of single entries)."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import READ_GLOBAL, WRITE_GLOBAL
from accesslist.rules.access_lists import GLOBAL_LIST, AccessList, ListWriter, NewEntry
from accesslist.selectors.access_lists import entries_of
from accesslist.serializers.access_lists import (
    AccessListEntryChange,
    AccessListEntryDocument,
    AccessListEntryInput,
)
from accesslist.services.access_lists import (
    access_list_entries_create,
    access_list_entry_delete,
    access_list_entry_update,
)
from accesslist.views.base import KeyViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts, Resource

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
        entry = resource.first(entries_of(self.of.key_id).filter(id=entry_id))
        return get_or_404(entry, ErrorCode.ACCESS_LIST_ENTRY_NOT_FOUND, entry_id)


class GlobalAccessListViewSet(AccessListViewSet):
    """`/admin/accessList`: addresses from which keys with a global role can call."""

    access = {
        "index": READ_GLOBAL,
        "retrieve": READ_GLOBAL,
        "create": WRITE_GLOBAL,
        "update": WRITE_GLOBAL,
        "destroy": WRITE_GLOBAL,
    }
    parameters = {"index": LISTING}
    bodies = {"create": AccessListEntryInput, "update": AccessListEntryChange}
    answers = {
        "index": [AccessListEntryDocument],
        "retrieve": AccessListEntryDocument,
        "create": AccessListEntryDocument,
        "update": AccessListEntryDocument,
    }
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
        body = self.body()
        new = [NewEntry(body["cidr_block"], body["description"])]
        (entry,) = access_list_entries_create(of=self.of, new=new, by=self.writer, now=self.now)
        return self.alone(AccessListEntryDocument, self.find(AccessListEntryDocument, entry.id))

    def update(self, request: Request, entry_id: str) -> Response:
        """Change the range or the description of an entry. A document that was read can be written back."""
        body = self.body(stored=self.entry)
        access_list_entry_update(
            of=self.of,
            entry_id=entry_id,
            cidr_block=body.get("cidr_block"),
            description=body.get("description"),
            by=self.writer,
            now=self.now,
        )
        return self.alone(AccessListEntryDocument, self.find(AccessListEntryDocument, entry_id))

    def destroy(self, request: Request, entry_id: str) -> Response:
        """Delete an entry. A list without entries no longer applies."""
        access_list_entry_delete(of=self.of, entry_id=entry_id, by=self.writer, now=self.now)
        return Response()
