"""The common base of all model pages in the console.

They show what the operator may read, and write only by actions (`opsapi.console.actions`). Django's own ways
to write (saving, deleting, editing in lists and inlines, its log of actions) are closed: the event log is the
only record of what was done.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from django import forms
from django.apps import apps
from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin, TabularInline

from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import VisibleScope
from opsapi.apps import contributions
from opsapi.console.action_pages import ActionPage, to_many
from opsapi.console.actions import Action, operator_of
from opsapi.console.admin_urls import action_url, add_url, creation_url, list_url, page_url
from opsapi.console.changelist import TOO_LONG, BoundedPaginator, ConsoleChangeList, containing, is_too_long
from opsapi.console.display import EMPTY, Context, once_for_row, with_links
from opsapi.console.error_pages import MissingError, RoleNeededError
from opsapi.console.filters import expected_parameters
from opsapi.console.project_choice import PARAMETER, to_chosen_project
from opsapi.console.sitemap import place_of_model
from opsapi.console.widgets import needs_somebody, project_notices
from opsapi.roles import INSTALLATION, Role, Scope


def live_context(request: HttpRequest) -> Context:
    """The time of a page that refreshes itself, and the number of things that need somebody."""
    now, operator = clock.now(), operator_of(request)
    needs = needs_somebody(operator.visible_scope(), now)
    return {"read": now, "needs": needs, "summary": f"alerts that need somebody: {needs or 0}"}


def notices(request: HttpRequest, group_id: str | None) -> Context:
    """The notices about a project, or about all projects that the operator can read."""
    return {"project_notices": project_notices(operator_of(request), group_id)}


def history_urls(row: models.Model) -> Iterator[str]:
    """Yield what the `history_urls` of every app return for a row: the page of its events, or nothing."""
    for contributed in contributions("history_urls"):
        for url_of in contributed:
            yield url_of(row)


MOST_CANDIDATES = 200
"""If more rows match a search of the whole console, it shows the first of so many."""


class ConsoleAdmin(ModelAdmin):  # type: ignore[misc]  # the theme is not typed
    """The pages of a model.

    The sitemap has its place in the navigation and its title. `group_path`: the lookup from a row to the ID
    of its project. Operators see the rows of the projects that they can read. Without it, only holders of a
    global role see rows, unless `visible_in_scope` shows others. `actions_of_row`: the actions on a row, by
    name. `add_action` creates a row; `list_actions`, by name, create rows in other ways.
    """

    help: ClassVar[str]
    """The document and heading of the pages, below `docs/`."""
    help_of_row: ClassVar[str] = ""
    """The document and heading of the page of a row, if not `help`."""
    group_path: ClassVar[str | None] = None
    in_any_scope: ClassVar[bool] = False
    """Whether operators with a role in any project or organization may see rows (`visible_in_scope`)."""
    add_action: ClassVar[Action | None] = None
    list_actions: ClassVar[Mapping[str, Action]] = {}
    actions_of_row: ClassVar[Mapping[str, Action]] = {}
    empty_text: ClassVar[str] = "Nothing here yet."
    """The text of an empty list."""
    palette_fields: ClassVar[tuple[str, ...]] = ()
    """The `search_fields` by whose parts the search of the whole console finds rows, ordered by the first."""
    is_live: ClassVar[bool] = False
    """Whether the list and the pages of rows show states, so that they refresh themselves."""
    list_actions_elsewhere: ClassVar[Sequence[tuple[str, str]]] = ()
    """`list_actions` of other models that the list offers, too: the label of the model, and the name."""
    filled_by: ClassVar[str] = ""
    """The label of the model whose `add_action` fills an empty list; empty: its own `add_action`."""

    view_on_site = False
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    paginator = BoundedPaginator
    list_per_page = 50
    list_max_show_all = 0
    list_filter_submit = True
    empty_value_display = EMPTY
    compressed_fields = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Compute each value that a page shows of a row once, because it may need statements."""
        super().__init_subclass__(**options)
        for name, display in list(vars(cls).items()):
            if hasattr(display, "short_description"):
                setattr(cls, name, once_for_row(display))

    @property
    def media(self) -> forms.Media:
        """The script of actions on many rows: pages of the console need no other script of Django's admin.

        Filters and forms add their own.
        """
        return forms.Media(js=["admin/js/actions.js"])

    # --- who sees what ---------------------------------------------------------------------------------

    def visible(self, rows: models.QuerySet[Any], visible_scope: VisibleScope) -> models.QuerySet[Any]:
        """Return the rows that are visible to an operator with this scope."""
        return rows if visible_scope.everything else self.visible_in_scope(rows, visible_scope)

    def visible_in_scope(
        self, rows: models.QuerySet[Any], visible_scope: VisibleScope
    ) -> models.QuerySet[Any]:
        """Return the rows for an operator who does not read everything."""
        if self.group_path is None:
            return rows.none()
        return rows.filter(**{f"{self.group_path}__in": visible_scope.group_ids})

    def is_shown_to(self, visible_scope: VisibleScope) -> bool:
        """Whether any rows can be visible to an operator with this scope."""
        scopes = visible_scope if self.in_any_scope else self.group_path and visible_scope.group_ids
        return visible_scope.everything or bool(scopes)

    def shows(self, row: models.Model, visible_scope: VisibleScope) -> bool:
        """Whether the row is visible in this scope. Queries only if no project decides it."""
        if getattr(row, "deleted", None) is not None:
            return False
        if visible_scope.everything:
            return True
        if self.group_path is not None:
            return self.scope_of(row).group_id in visible_scope.group_ids
        return self.visible(self.model._default_manager.filter(pk=row.pk), visible_scope).exists()

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Load related data for all rows of a page at once, and store it on them."""

    def scope_of(self, row: Any) -> Scope:
        """The scope of the row, which decides about the roles for actions."""
        if self.group_path is None:
            return INSTALLATION
        value = row
        for name in self.group_path.split("__"):
            value = getattr(value, name)
        return Scope(group_id=value)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the visible scope of the operator."""
        return self.visible(super().get_queryset(request), operator_of(request).visible_scope())

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the operator can see anything here."""
        return self.admin_site.has_permission(request) and self.is_shown_to(
            operator_of(request).visible_scope()
        )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As `has_module_permission`: invisible rows are not found."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether an action creates rows and the operator may run it somewhere."""
        action = self.add_action
        return action is not None and action.is_allowed_somewhere(operator_of(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: only actions change and delete rows."""
        return False

    has_delete_permission = has_change_permission

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only exact parameters of filters: a prefix match could reach any related row."""
        return request is not None and lookup in expected_parameters(self, request)

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """The search results; none, with a message, if the search is too long."""
        if is_too_long(search_term):
            messages.warning(request, TOO_LONG)
            return queryset.none(), False
        results: tuple[models.QuerySet[Any], bool] = super().get_search_results(
            request, queryset, search_term
        )
        return results

    def palette_rows(self, request: HttpRequest, words: Sequence[str]) -> models.QuerySet[Any]:
        """Return the visible rows that contain all words, for the search of the whole console."""
        allowed = self.get_search_fields(request)
        fields = [name for name in self.palette_fields if name in allowed]
        rows = self.get_queryset(request)
        # PostgreSQL stops at the last candidate, and sorts no table of which every row matches.
        matching = rows.filter(self.palette_condition(words, fields))
        candidates = matching.order_by().values("pk")[:MOST_CANDIDATES]
        ordered = rows.filter(pk__in=candidates).order_by(fields[0], "pk")
        return ordered.select_related("group") if self.group_path == "group_id" else ordered

    def palette_condition(self, words: Sequence[str], fields: Sequence[str]) -> models.Q:
        """Return the condition of rows that contain all words in these fields."""
        return containing(words, fields)

    def palette_words(self, row: Any) -> tuple[str, str]:
        """Return the name of a row, and its project or another detail."""
        return str(row), row.group.name if self.group_path == "group_id" else ""

    # --- what can be done ------------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        """Adds a page for each action; removes the history page, which shows Django's own log."""
        pages = [
            path(
                "do/<slug:name>/",
                self.admin_site.admin_view(self.list_action_view),
                name=self._name("create"),
            ),
            path(
                "<path:object_id>/do/<slug:name>/",
                self.admin_site.admin_view(self.action_view),
                name=self._name("do"),
            ),
        ]
        left = [url for url in super().get_urls() if not (url.name or "").endswith(("_history", "_delete"))]
        return [*pages, *left]

    def action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """The page of one of `actions_of_row`, for a single row."""
        row = self.get_object(request, unquote(object_id))
        action = self.actions_of_row.get(name)
        if row is None or action is None:
            raise self._missing(unquote(object_id))
        return self._action_page(request, action, [row])

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """The page of `add_action`."""
        if self.add_action is None:
            raise PermissionDenied
        return self._creation_page(request, self.add_action)

    def list_action_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """The page of one of `list_actions`."""
        action = self.list_actions.get(name)
        if action is None:
            raise self._missing(name)
        return self._creation_page(request, action)

    def _creation_page(self, request: HttpRequest, action: Action) -> HttpResponse:
        if not action.is_allowed_somewhere(operator_of(request)):
            raise RoleNeededError(action.access_of(None).roles)
        return self._action_page(request, action, [None])

    def _action_page(self, request: HttpRequest, action: Action, rows: Sequence[Any]) -> HttpResponse:
        try:
            return ActionPage(self, request, action, rows).answer()
        except ApiError as refusal:
            if refusal.code is not ErrorCode.USER_UNAUTHORIZED:
                raise
            row = rows[0]
            raise RoleNeededError(action.access_of(row).roles, self.scope_of(row)) from None

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The `actions_of_row` that also run on many rows and that the operator may run somewhere."""
        operator = operator_of(request)
        return {
            name: (to_many(name, action), name, action.label)
            for name, action in self.actions_of_row.items()
            if action.bulk and action.is_allowed_somewhere(operator)
        }

    def row_actions(self, request: HttpRequest, row: Any) -> list[Context]:
        """What this operator can do to this row now: the buttons of its page."""
        operator, now, scope = operator_of(request), clock.now(), self.scope_of(row)
        return [
            {"name": name, "action": action, "url": action_url(self.model, row.pk, name)}
            for name, action in self.actions_of_row.items()
            if action.offered(row, now) and action.is_allowed(operator, row, scope)
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """The page of a row, with its actions."""
        self.require_reading(request)
        row = self.get_object(request, unquote(object_id))
        context = {} if row is None else {**self._live(request), **self.page_context(request, row)}
        page: HttpResponse = super().change_view(
            request, object_id, form_url, {"title": self.list_title, **context, **(extra_context or {})}
        )
        return page

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """The list."""
        self.require_reading(request)
        if self.is_of_projects and (chosen := to_chosen_project(request)):
            return chosen
        context = {
            "list_actions": self._shown_list_actions(request),
            "list_note": self.list_note(request),
            **self._live(request),
            **({} if self.group_path is None else notices(request, self.project_of_list(request) or None)),
            **(extra_context or {}),
        }
        listed: HttpResponse = super().changelist_view(request, context)
        return listed

    def _live(self, request: HttpRequest) -> Context:
        return {"live": live_context(request)} if self.is_live else {}

    def list_note(self, request: HttpRequest) -> str:
        """A sentence above the list, for this operator."""
        return ""

    def _shown_list_actions(self, request: HttpRequest) -> list[Context]:
        """The buttons of the list except `add_action`; they keep the project that the list is filtered by."""
        operator, group = operator_of(request), self.project_of_list(request)
        own = ((self.model._meta.label_lower, name) for name in self.list_actions)
        return [
            {"action": action, "url": creation_url(label, name, group=group)}
            for label, name in (*own, *self.list_actions_elsewhere)
            for action in [self._list_action(label, name)]
            if action.is_allowed_somewhere(operator) and action.offered(None, clock.now())
        ]

    def _list_action(self, label: str, name: str) -> Action:
        pages: Any = self.admin_site.get_model_admin(apps.get_model(label))
        action: Action = pages.list_actions[name]
        return action

    def first_step(self, request: HttpRequest) -> Context | None:
        """The action that fills the empty list, and its page; None if the operator may not run it."""
        pages: Any = (
            self.admin_site.get_model_admin(apps.get_model(self.filled_by)) if self.filled_by else self
        )
        if not pages.has_add_permission(request):
            return None
        group = self.project_of_list(request)
        return {"action": pages.add_action, "url": add_url(pages.model, group=group)}

    def require_reading(self, request: HttpRequest) -> None:
        """Refuse operators who cannot find any rows, and name a role that can."""
        if not self.has_view_permission(request):
            raise RoleNeededError(
                [Role.GLOBAL_READ_ONLY if self.group_path is None else Role.GROUP_READ_ONLY]
            )

    def _missing(self, pk: str) -> MissingError:
        text = f"No {self.opts.verbose_name} with the ID {pk} exists."
        return MissingError(text, (self.list_url(), self.list_title))

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> NoReturn:
        """404, instead of Django's redirect to the start page."""
        raise self._missing(unquote(object_id))

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """The template context of a row's page, in addition to Django's."""
        group_id = self.scope_of(row).group_id
        about_project = notices(request, group_id) if group_id else {}
        history = next((url for url in history_urls(row) if url), "")
        return {
            "row_actions": self.row_actions(request, row),
            "history_url": history,
            "show_history": False,
            **about_project,
        }

    @property
    def is_of_projects(self) -> bool:
        """Whether each row belongs to a project, by which the list can be filtered."""
        return self.group_path == "group_id"

    def project_of_list(self, request: HttpRequest) -> str:
        """The ID of the project by which the list is filtered; empty for all."""
        return request.GET.get("group__id__exact") or request.GET.get(PARAMETER) or ""

    @property
    def list_title(self) -> str:
        """The word for the list, which the navigation, breadcrumbs and titles share."""
        return place_of_model(self.opts.label_lower).page.title

    # --- where pages are -------------------------------------------------------------------------------

    @property
    def url_prefix(self) -> str:
        """The first words of the names of the URLs of all pages."""
        return f"{self.opts.app_label}_{self.opts.model_name}"

    def _name(self, page: str) -> str:
        return f"{self.url_prefix}_{page}"

    @property
    def add_url_name(self) -> str:
        """The name of the page that creates a row."""
        return f"admin:{self._name('add')}"

    def list_url(self) -> str:
        """The URL of the list."""
        return list_url(self.model)

    def descending_by(self, request: HttpRequest, column: str) -> str:
        """The value of the parameter `o` that sorts the list by a column, greatest first."""
        boxes = 1 if self.get_actions(request) else 0
        return f"-{list(self.list_display).index(column) + boxes}"

    def page_url(self, row: Any) -> str:
        """The URL of the row's page, or of the list if there is no row."""
        if row is None or row.pk is None or not type(row)._default_manager.filter(pk=row.pk).exists():
            return self.list_url()
        return page_url(row)

    # --- what Django's admin would do otherwise --------------------------------------------------------

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ConsoleChangeList]:
        """The console's own list."""
        return ConsoleChangeList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row.

        An empty `_to_field` in the URL counts as missing; Django would look for a field without name.
        """
        row = super().get_object(request, object_id, from_field or None)
        if row is not None:
            self.look_up(request, [row])
        return row

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """The declared fields, with related rows as links."""
        return self._with_links(request, self.list_display)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """The declared columns, with related rows as links."""
        return self._with_links(request, self.fields or ())

    def _with_links(self, request: HttpRequest, names: Any) -> list[Any]:
        visible_scope = operator_of(request).visible_scope()
        return with_links(names, site=self.admin_site, visible_scope=visible_scope, model=self.model)

    def save_model(self, *_: Any, **__: Any) -> None:
        """Never: only services write."""
        raise PermissionDenied

    delete_model = delete_queryset = save_model


class ConsoleInline(TabularInline):  # type: ignore[misc]  # the theme is not typed
    """Read-only rows below another row."""

    extra = 0
    can_delete = False
    view_on_site = False
    show_change_link = False
    empty_value_display = EMPTY
    media = forms.Media()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """The declared fields, with related rows as links."""
        visible_scope = operator_of(request).visible_scope()
        return with_links(
            self.fields or (), site=self.admin_site, visible_scope=visible_scope, model=self.model
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """All fields, including computed ones."""
        return self.get_fields(request, obj)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As the page that contains it."""
        return bool(self.admin_site.has_permission(request))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    has_change_permission = has_delete_permission = has_add_permission
