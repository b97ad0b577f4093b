"""The event log in the console.

Django's list counts rows and pages by number, which gets slower with the size of the log. The event log pages
by event and searches along indexes (`events.log.search`)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode

from events.choices import DiffStatus, DiffType
from events.diffs import QuantityWords, change_summary, changed_resources
from events.log.csv import FULL_RETRY_SECONDS, Full, download, events_csv
from events.log.forms import By, EventFilters, Last
from events.log.models import Event
from events.log.reverting import is_change
from events.log.search import LOOKED_BACK, Direction, SearchPage, search_page
from events.log.store import event_scope
from events.log.subjects import subjects
from events.types import EventType
from events.wording import acted_by_key, acting, in_words
from opsapi import clock
from opsapi.api.principal import Operator, VisibleScope
from opsapi.apps import contributions
from opsapi.console.actions import Action, operator_of
from opsapi.console.admin_urls import action_url, page_url, page_url_of
from opsapi.console.changelist import Chip, chosen_words
from opsapi.console.display import Context, json_field, urls_seen
from opsapi.console.earlier import EVENT, RevertingForm
from opsapi.console.model_admin import ConsoleAdmin, notices
from opsapi.console.project_choice import to_chosen_project

# For each ID in an event: the key in its details, the model and its label.
_NAMED = (
    ("hostId", "automation.host", "Host"),
    ("alertConfigId", "alerting.alertconfig", "Alert configuration"),
    ("maintenanceWindowId", "alerting.maintenancewindow", "Maintenance window"),
    ("userId", "accesslist.user", "User"),
    ("apiKeyId", "accesslist.apikey", "API key"),
    ("teamId", "accesslist.team", "Team"),
)


@dataclass(frozen=True, slots=True)
class RowLink:
    """A resource that an event names; without `url` and name if it is deleted or not readable."""

    label: str
    row_id: str
    name: str = ""
    url: str | None = None


def row_links(site: AdminSite, request: HttpRequest, event: Event) -> list[RowLink]:
    """All resources that the event names by ID."""
    return [_link(site, request, *named) for named in _ids(event)]


def _ids(event: Event) -> Iterator[tuple[str, str, str]]:
    scopes: Mapping[str, tuple[str, str | None]] = {
        "Project": ("accesslist.project", event.group_id),
        "Organization": ("accesslist.organization", event.org_id),
        "Alert": ("alerting.alert", event.alert_id),
    }
    for label, (model, row_id) in scopes.items():
        if row_id:
            yield label, model, row_id
    details: Mapping[str, Any] = event.details
    for key, model, label in _NAMED:
        if details.get(key):
            yield label, model, str(details[key])


def _link(site: AdminSite, request: HttpRequest, label: str, model: str, row_id: str) -> RowLink:
    """Adds the page of the row, if the operator can see it."""
    pages = next((page for page in site._registry.values() if page.opts.label_lower == model), None)
    if pages is None or not pages.has_view_permission(request):
        return RowLink(label, row_id)
    row = pages.get_queryset(request).filter(pk=row_id).first()
    if row is None:
        return RowLink(label, row_id)
    return RowLink(label, row_id, str(row), page_url(row))


def shown_events(events: Iterable[Event], operator: Operator, site: AdminSite) -> list[Context]:
    """The events of the list, with links to the projects, hosts and users that the operator can see."""
    listed = list(events)
    names = group_names(operator, {event.group_id for event in listed if event.group_id})
    quantity_words = _quantity_words()
    projects = {id_: page_url_of("accesslist.project", id_) for id_ in names}
    hosts, users = (
        urls_seen(site, operator.visible_scope(), model, field, (event.details.get(key) for event in listed))
        for model, field, key in (
            ("automation.host", "id", "hostId"),
            ("accesslist.user", "username", "username"),
        )
    )
    return [
        {
            "id": event.id,
            "created": event.created,
            "event_type": event.event_type,
            "words": in_words(event.event_type),
            "change": change_summary(event.diffs, quantity_words),
            "about": subject.text,
            "about_url": hosts.get(event.details.get("hostId", "")) or subject.url,
            "who": acting(event.details),
            "who_url": users.get(event.details.get("username", "")),
            "by_key": acted_by_key(event.details),
            "address": event.details.get("remoteAddress"),
            # The ID of a project that is deleted or not readable.
            "project": names.get(event.group_id or "", event.group_id),
            "project_url": projects.get(event.group_id or "", ""),
        }
        for event, subject in zip(listed, subjects(listed, operator.visible_scope(), site), strict=True)
    ]


def group_names(operator: Operator, ids: Iterable[str]) -> dict[str, str]:
    """Names of the projects that the operator can read, by ID."""
    wanted = list(ids)
    return {group.id: group.name for group in operator.groups(ids=wanted)} if wanted else {}


@dataclass(frozen=True, slots=True)
class _RevertedModel:
    """The model of the row whose form reverts a change, and the field by which it is found.

    `subject`: the model of the row that the diff is about, if the form is of another row: the roles of a team
    in a project change on the form of the project. The form takes the ID of the team from the parameter with
    the name of this model.
    """

    label: str
    name: str = "id"
    subject: str = ""


_CHANGED: Mapping[str, _RevertedModel] = {
    DiffType.ALERT_CONFIG: _RevertedModel("alerting.alertconfig"),
    DiffType.INTEGRATION: _RevertedModel("integrations.integration", "type"),
    DiffType.MAINTENANCE_WINDOW: _RevertedModel("alerting.maintenancewindow"),
    DiffType.PROCESS: _RevertedModel("automation.host"),
}
_PROJECT, _ORGANIZATION = _RevertedModel("accesslist.project"), _RevertedModel("accesslist.organization")
_USER, _KEY, _TEAM = (_RevertedModel(f"accesslist.{name}") for name in ("user", "apikey", "team"))
_TEAM_IN_PROJECT = _RevertedModel("accesslist.project", subject="accesslist.team")
_NO_PASSWORDS = "An earlier password cannot be restored: passwords are not in events."
_NOT_STORED: Mapping[str, str] = {
    EventType.USER_PASSWORD_CHANGED_AUDIT: _NO_PASSWORDS,
    EventType.USER_PASSWORD_RESET_AUDIT: _NO_PASSWORDS,
    EventType.API_KEY_DELETED_AUDIT: "A deleted API key cannot be restored: its private key is not stored. "
    "Create a new key.",
    EventType.USER_DELETED_AUDIT: "A deleted user cannot be restored: the password is not stored. Invite the "
    "person again.",
    EventType.KIOSK_REVOKED_AUDIT: "A revoked kiosk cannot be restored: its address is not stored. Create a "
    "new kiosk.",
}
"""Events whose change cannot be reverted, because what it removed is not stored."""
_REMOVED = (
    "What was deleted cannot be restored: its secrets and its history are not in the event. Create it again."
)
_ADDED = "This change created something. To revert it, delete what it created."


class RevertLink(NamedTuple):
    """A form that reverts a change of the event."""

    words: str
    url: str


class Reverting(NamedTuple):
    """How an event is reverted: the forms, otherwise the reason why there is none, if it is known."""

    links: Sequence[RevertLink] = ()
    refusal: str = ""


def reverting(site: AdminSite, request: HttpRequest, event: Event) -> Reverting:
    """Return the forms that revert the event; none if the operator cannot revert it."""
    if refusal := _NOT_STORED.get(event.event_type, ""):
        return Reverting(refusal=refusal)
    if not 0 < len(event.diffs) <= _MOST_DIFFS:
        return Reverting()
    ways = [_reverting(site, request, event, diff) for diff in event.diffs]
    links = [link for way in ways for link in way.links]
    return Reverting(links, "" if links else ways[0].refusal)


_MOST_DIFFS = 2
"""A key has a diff of its description and of its roles; other events with several diffs are of many rows."""


def _reverting(site: AdminSite, request: HttpRequest, event: Event, diff: Mapping[str, Any]) -> Reverting:
    model, name = _model_of(event, diff)
    if model is None:
        return Reverting(refusal=_why_not(event))
    if not is_change(diff) and name == diff["id"]:
        return Reverting(refusal=_REMOVED if diff["status"] == DiffStatus.REMOVED.value else _ADDED)
    pages: Any = site.get_model_admin(apps.get_model(model.label))
    rows = pages.get_queryset(request).filter(**{model.name: name})
    row = (rows.filter(group_id=event.group_id) if pages.is_of_projects else rows).first()
    if row is None or _is_subject_deleted(model, diff):
        return Reverting(refusal="What was changed is deleted, or you cannot see it.")
    action_name, action = _reverting_action(pages, diff)
    if not action.is_allowed(operator_of(request), row, pages.scope_of(row)):
        return Reverting()
    url = action_url(pages.model, row.pk, action_name, **{EVENT: event.id}, **_subject_parameter(model, diff))
    words = "Revert this change" if len(event.diffs) == 1 else f"Revert: {action.label.lower()}"
    return Reverting([RevertLink(words, url)])


def _is_subject_deleted(model: _RevertedModel, diff: Mapping[str, Any]) -> bool:
    if not model.subject:
        return False
    return not apps.get_model(model.subject)._default_manager.filter(pk=diff["id"]).exists()


def _subject_parameter(model: _RevertedModel, diff: Mapping[str, Any]) -> Mapping[str, str]:
    """The parameter of the URL that names the row that the diff is about, if the form is of another row."""
    return {model.subject.partition(".")[2]: diff["id"]} if model.subject else {}


def _model_of(event: Event, diff: Mapping[str, Any]) -> tuple[_RevertedModel | None, str]:
    """The model and the name of the row whose form reverts the diff; no model if there is no such form."""
    kind, name, details = diff["type"], diff["id"], event.details
    if kind == DiffType.GROUP:
        return (_PROJECT if event.group_id else _ORGANIZATION), name
    if kind in _CHANGED:
        return _CHANGED[kind], name
    team_id = details.get("teamId")
    if kind == DiffType.USERS and team_id:
        return _TEAM, team_id
    if "targetPublicKey" in details and kind in {DiffType.AUTH, DiffType.ROLES}:
        return _KEY, name
    if kind == DiffType.ROLES and event.group_id and team_id:
        return _TEAM_IN_PROJECT, event.group_id
    return (_USER, name) if "targetUsername" in details and kind == DiffType.ROLES else (None, name)


def _why_not(event: Event) -> str:
    """The reason why no form reverts such a change, if there is one to say."""
    if event.event_type == EventType.USER_CHANGED_AUDIT:
        return "Only the user can change this, under Your account."
    return ""


def _reverting_action(pages: Any, diff: Mapping[str, Any]) -> tuple[str, Action]:
    """The action whose form reverts changes of this type and of any of these fields."""
    actions: Mapping[str, Action] = pages.actions_of_row
    kind, changed = diff["type"], {param["param"] for param in diff["params"]}
    return next(
        (name, action)
        for name, action in actions.items()
        if action.form is not None
        and issubclass(action.form, RevertingForm)
        and EVENT in action.form.from_address
        and (not action.form.kinds_in_events or kind in action.form.kinds_in_events)
        and (not action.form.fields_in_events or changed & action.form.fields_in_events)
    )


def _quantity_words() -> QuantityWords:
    return next((words for given in contributions("quantity_words") for words in given), _plain_quantity)


def _plain_quantity(number: float, units: str) -> str:
    return f"{number:g} {units}"


_ON_A_PAGE = 50


@admin.register(Event)
class EventAdmin(ConsoleAdmin):
    """The event log, newest first."""

    help = "reference/events"
    in_any_scope = True
    fields = ["id", "created", "event_type", "details_json", "diffs_json", "raw_json"]
    empty_text = "No events yet. Every change leaves an event here."
    list_template = "admin/events/event/list.html"
    no_file_template = "admin/events/event/no_file.html"

    details_json = staticmethod(json_field("details"))
    diffs_json = staticmethod(json_field("diffs"))
    raw_json = staticmethod(json_field("raw"))

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Events of projects and organizations that the operator can read."""
        return rows.filter(event_scope(visible_scope))

    def get_urls(self) -> list[URLPattern]:
        """Adds the CSV download."""
        file = path("csv/", self.admin_site.admin_view(self.csv_view), name=self._name("csv"))
        return [file, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """A page of search results."""
        if chosen := to_chosen_project(request):
            return chosen
        filters = self._filters(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return self._list(request, filters)

    def csv_view(self, request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
        """All search results as a file; 429 if too many files are being written, or one for this operator."""
        filters = self._filters(request)
        if not filters.is_valid():
            return self._list(request, filters)
        operator = operator_of(request)
        names = partial(group_names, operator)
        parts = events_csv(filters.search(), names=names, clock=clock.now)
        file = download(parts, user_id=str(request.user.pk))
        if isinstance(file, Full):
            return self._no_file(request, filters, file)
        return StreamingHttpResponse(
            file,
            content_type="text/csv; charset=utf-8; header=present",
            headers={
                "Content-Disposition": f'attachment; filename="events-{filters.now:%Y%m%dT%H%M%SZ}.csv"'
            },
        )

    def page_context(self, request: HttpRequest, row: Event) -> Context:
        """The event in words, what changed and what it names."""
        return {
            **super().page_context(request, row),
            **(notices(request, row.group_id) if row.group_id else {}),
            "title": in_words(row.event_type),
            "subtitle": None,
            "event": row,
            "about": subjects([row], operator_of(request).visible_scope(), self.admin_site)[0].text,
            "who": acting(row.details),
            "who_url": self._who_url(request, row),
            "address": row.details.get("remoteAddress"),
            "changes": changed_resources(row.diffs, _quantity_words()),
            "reverting": reverting(self.admin_site, request, row),
            "links": row_links(self.admin_site, request, row),
        }

    def _who_url(self, request: HttpRequest, event: Event) -> str:
        name = event.details.get("username", "")
        visible_scope = operator_of(request).visible_scope()
        return urls_seen(self.admin_site, visible_scope, "accesslist.user", "username", [name]).get(name, "")

    def _filters(self, request: HttpRequest) -> EventFilters:
        self.require_reading(request)
        return EventFilters(request.GET, operator=operator_of(request), now=clock.now())

    def _no_file(self, request: HttpRequest, filters: EventFilters, why: Full) -> TemplateResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Too many downloads",
            "why": why.value,
            "seconds": FULL_RETRY_SECONDS,
            "csv_url": _with(filters),
            "list_url": _with(filters, url=self.list_url()),
        }
        headers = {"Retry-After": str(FULL_RETRY_SECONDS)}
        return TemplateResponse(request, self.no_file_template, context, status=429, headers=headers)

    def _list(self, request: HttpRequest, filters: EventFilters) -> TemplateResponse:
        page, direction = SearchPage((), None), Direction.OLDER
        if filters.is_valid():
            place, direction = filters.place()
            page = search_page(filters.search(), size=_ON_A_PAGE, place=place, direction=direction)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": self.list_title,
            "model_admin": self,
            "form": filters,
            "events": shown_events(page.events, operator_of(request), self.admin_site),
            "page": page,
            "csv_url": _with(filters, url=reverse(f"admin:{self._name('csv')}")),
            "chips": list(_chips(filters)),
            "quick": [_quick(filters, last) for last in Last],
            "views": list(_views(filters)),
            **_going_on(filters, page, direction),
            **notices(request, request.GET.get("project") or None),
        }
        status = 200 if filters.is_valid() else 400
        return TemplateResponse(request, self.list_template, context, status=status)


def _with(filters: EventFilters, *, url: str = "", leave: tuple[str, ...] = (), **more: str) -> str:
    """The URL with the active filters, changed."""
    kept = {name: value for name, value in filters.chosen.items() if name not in leave}
    return f"{url}?{urlencode({**kept, **more})}"


def _chips(filters: EventFilters) -> Iterator[Chip]:
    """The active filters, each with a link that removes it."""
    for name, text in filters.chosen.items():
        if name in filters.fields:
            words = chosen_words(filters.fields[name], text)
            yield Chip(str(filters[name].label), words, _with(filters, leave=(name,)))


def _quick(filters: EventFilters, last: Last) -> Context:
    url = _with(filters, leave=("start", "end"), last=last.value)
    return {"label": f"Last {last.value}", "url": url, "active": filters.chosen.get("last") == last.value}


def _views(filters: EventFilters) -> Iterator[Context]:
    """The links to all changes, changes by people and changes of the fleet. The other filters stay."""
    chosen = filters.chosen.get("by", "")
    yield {"label": "All", "url": _with(filters, leave=("by",)), "active": not chosen}
    for by in By:
        yield {
            "label": by.value.capitalize(),
            "url": _with(filters, by=by.value),
            "active": chosen == by.value,
        }


def _going_on(filters: EventFilters, page: SearchPage, direction: Direction) -> Context:
    """Links to the pages on both sides; there is always a link back to the previous page."""
    place, _ = filters.place() if filters.is_valid() else (None, None)
    first, last = (page.events[0].id, page.events[-1].id) if page.events else (None, None)
    ahead = page.next.id if page.next else None
    back = place.id if place else None
    if direction is Direction.OLDER:
        older, newer = ahead, (first or back) if place else None
    else:
        older, newer = last or back, ahead
    return {
        "older_url": _with(filters, before=older) if older else None,
        "newer_url": _with(filters, after=newer) if newer else None,
        "newest_url": _with(filters) if place else None,
        "looked_to": page.looked_to,
        "looked_back": f"{LOOKED_BACK:,}",
    }
