"""The page of an action on a row, on several rows, or on none, to create a row.

A page that creates something does so once, even if a browser submits it again: each displayed page has a
token, and the session stores the result of the page under the token.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar, Protocol

from django.contrib import messages
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html

from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.links import base_url
from opsapi.console.actions import Action, ActionCall, ActionOutcome, ActionRows, LinkOfRows, operator_of
from opsapi.console.forms import ConsoleForm
from opsapi.roles import Scope

TOKEN_FIELD = "once"  # noqa: S105 - a name
"""The field with the token."""
MOST_PAGES = 50
"""Number of pages remembered per session, the newest."""
PAGE_FORGOTTEN = "This form has expired and nothing was changed. Send it again."
_PAGES = "pages"
_BYTES = 16
Pages = dict[str, list[str] | None]
"""The result of each page by token: where it led and the message; None if unused."""
MOST_ROWS = 500
"""Maximum number of rows of an action."""
NONE_LEFT = "None of the selected items exists any more."
_SAVE = "Save"
BACK = "back"
"""The field with the query of the list to which the action leads back."""
CONFIRMED = "confirmed"
"""The field that distinguishes the submitted page from the list's request to show it."""


class PagesOfModel(Protocol):
    """The pages of the model on whose rows an action runs."""

    admin_site: Any
    opts: Any
    add_action: ClassVar[Action | None]

    @property
    def media(self) -> Any:
        """The scripts and styles of its pages."""

    def scope_of(self, row: Any) -> Scope:
        """The scope that decides about the roles for actions on the row."""

    def list_url(self) -> str:
        """The URL of the list."""

    def page_url(self, row: Any) -> str:
        """The URL of the row's page, or of the list if there is no row."""


DoToMany = Callable[[PagesOfModel, HttpRequest, "models.QuerySet[Any]"], HttpResponse]


@contextmanager
def pages_of(request: HttpRequest) -> Iterator[Pages]:
    """Yield the session's pages that create something, and store them if the block succeeds.

    Other requests of the session wait, because a page may be submitted twice at the same time.
    """
    session: Any = request.session
    with transaction.atomic():
        session.hold()
        pages: Pages = dict(session.get(_PAGES, {}))
        yield pages
        session[_PAGES] = dict(list(pages.items())[-MOST_PAGES:])
        session.save()
    # The session is saved, so nothing is written again with the response.
    session.modified = False


def page_token(request: HttpRequest) -> str:
    """The token of the page: the submitted one while it is unused, otherwise a new one."""
    with pages_of(request) as pages:
        sent = sent_token(request)
        if is_unused(pages, sent):
            return sent
        token = secrets.token_urlsafe(_BYTES)
        pages[token] = None
        return token


def is_unused(pages: Pages, token: str) -> bool:
    """Whether the token belongs to an unused page."""
    return token in pages and pages[token] is None


def sent_token(request: HttpRequest) -> str:
    """The submitted token; empty if missing."""
    return request.POST.get(TOKEN_FIELD, "")


class ActionPage:
    """A request for an action. `rows`: the rows of the action, [None] if it creates a row.

    `name`: the action's name in the list.
    """

    def __init__(
        self, admin: PagesOfModel, request: HttpRequest, action: Action, rows: Sequence[Any], name: str = ""
    ):
        self.admin, self.request, self.action, self.rows, self.name = admin, request, action, rows, name
        self.action_rows = ActionRows(rows=rows)
        self.operator = operator_of(request)
        self.now = clock.now()
        self.is_new = rows == [None]
        self.is_once = self.is_new or action.creates

    def answer(self) -> HttpResponse:
        """Return the page, or after submission the result.

        Raises:
            ApiError: USER_UNAUTHORIZED or another refusal, if the operator may not run the action.
        """
        for row in self.rows:
            if row is not None:
                self.action.authorise(self.operator, row, self.admin.scope_of(row))
        form = self._form()
        is_sent = self.request.method == "POST" and CONFIRMED in self.request.POST
        if is_sent and not form.is_question:
            answer = self._do_once(form) if self.is_once else self._do(form)
            if answer is not None:
                return answer
        return self._page(form)

    def _do(self, form: ConsoleForm) -> HttpResponse | None:
        """Return the result; None to show the page again with the error."""
        outcomes = self._try(form)
        return None if outcomes is None else self._next(outcomes)

    def _do_once(self, form: ConsoleForm) -> HttpResponse | None:
        """As `_do`, at most once for each displayed page."""
        token = sent_token(self.request)
        with pages_of(self.request) as pages:
            result = pages.get(token)
            outcomes = self._try(form) if is_unused(pages, token) else None
            if outcomes is not None:
                pages[token] = [self._leads_to(outcomes), self._messages(outcomes)]
        if outcomes is not None:
            return self._next(outcomes)
        if result is not None:
            url, detail = result
            messages.warning(self.request, f"This was already done and was not repeated. {detail}")
            return redirect(url)
        if token not in pages and form.is_valid():
            form.add_error(None, PAGE_FORGOTTEN)
        return None

    def _form(self) -> ConsoleForm:
        kind = self.action.form or ConsoleForm
        row = self.rows[0] if len(self.rows) == 1 else None
        rows = [] if self.is_new else self.rows
        if CONFIRMED in self.request.POST:
            return kind(self.request.POST, operator=self.operator, row=row, rows=rows)
        initial = {name: text for name, text in self.request.GET.items() if name in kind.from_address}
        return kind(initial=initial, operator=self.operator, row=row, rows=rows)

    def _run(self, form: ConsoleForm) -> list[ActionOutcome]:
        """Run the action on all rows that it holds, or change none."""
        with transaction.atomic() if self.action.atomic else nullcontext():
            if self.is_new:
                self.action.authorise(self.operator, None, form.scope())
            hold = self.action.hold
            chosen = hold(self._call(None, form), self.rows) if hold else self.action_rows
            outcomes = [self.action.run(self._call(row, form)) or ActionOutcome() for row in chosen.rows]
        self.action_rows = chosen
        return outcomes

    def _call(self, row: Any, form: ConsoleForm) -> ActionCall:
        address = base_url(self.request)
        return ActionCall(operator=self.operator, now=self.now, row=row, values=form.values, address=address)

    def _try(self, form: ConsoleForm) -> list[ActionOutcome] | None:
        """Run the action. Return None if the input is rejected; the form then shows the reason."""
        if not form.is_valid():
            return None
        try:
            return self._run(form)
        except ApiError as refusal:
            form.add_refusal(refusal)
            return None

    def _next(self, committed: Sequence[ActionOutcome]) -> HttpResponse:
        outcomes = [outcome.after() if outcome.after else outcome for outcome in committed]
        only, url, chosen = _only(outcomes), self._leads_to(outcomes), self.action_rows
        if not chosen.rows:
            messages.error(self.request, chosen.left_out)
            return redirect(url)
        if only and only.template:
            return self._answer(only.template, {**only.context, "row_url": url})
        for warning in dict.fromkeys(warning for outcome in outcomes for warning in outcome.warnings):
            messages.warning(self.request, warning)
        if chosen.left_out:
            messages.warning(self.request, chosen.left_out)
        done = self._messages(outcomes)
        messages.success(self.request, format_html("{} {}", done, chosen.note) if chosen.note else done)
        return redirect(url)

    def _leads_to(self, outcomes: Sequence[ActionOutcome]) -> str:
        only = _only(outcomes)
        if only and only.url:
            return only.url
        if BACK in self.request.POST:
            query = QueryDict(self.request.POST[BACK]).urlencode()
            return f"{self.admin.list_url()}?{query}" if query else self.admin.list_url()
        return self.admin.page_url(only.row or self.action_rows.rows[0]) if only else self.admin.list_url()

    def _messages(self, outcomes: Sequence[ActionOutcome]) -> str:
        only = _only(outcomes)
        if only and only.message:
            return only.message
        what = (
            _as_it_is(only.row or self.action_rows.rows[0])
            if only
            else f"{len(outcomes)} {self.admin.opts.verbose_name_plural}"
        )
        return f"{self.action.done}: {what}."

    def _page(self, form: ConsoleForm) -> HttpResponse:
        context = {
            "action": self.action,
            "button": form.button
            or self.action.button
            or (_SAVE if self.action is self.admin.add_action else self.action.label),
            "form": form,
            "media": self.admin.media + form.media,
            "rows": [] if self.is_new else self.rows,
            "name_of_action": self.name,
            "confirmed": CONFIRMED,
            "once": TOKEN_FIELD,
            "token": page_token(self.request) if self.is_once else "",
            "back": self.admin.list_url() if len(self.rows) > 1 else self.admin.page_url(self.rows[0]),
        }
        return self._answer("console/action.html", context)

    def _answer(self, template: str, context: Mapping[str, Any]) -> HttpResponse:
        site = self.admin.admin_site.each_context(self.request)
        page_context = {**site, "title": self.action.label, "opts": self.admin.opts, **context}
        return TemplateResponse(self.request, template, page_context)


def _only(outcomes: Sequence[ActionOutcome]) -> ActionOutcome | None:
    """Return the only result, if the action was on a single row or created one."""
    return outcomes[0] if len(outcomes) == 1 else None


def _as_it_is(row: Any) -> Any:
    """Return the current name, or the last name of a deleted row."""
    return type(row)._default_manager.filter(pk=row.pk).first() or row


def to_many(name: str, action: Action) -> DoToMany:
    """Return the function that Django calls for the action on the selected rows of a list."""

    def do(admin: PagesOfModel, request: HttpRequest, chosen: "models.QuerySet[Any]") -> HttpResponse:
        try:
            rows = selected_rows(chosen)
        except ValueError as refusal:
            return _refused(request, str(refusal))
        return ActionPage(admin, request, action, rows, name=name).answer()

    return do


def to_form(link: LinkOfRows) -> DoToMany:
    """Return the function that Django calls to lead from the selected rows of a list to a form."""

    def do(_admin: PagesOfModel, request: HttpRequest, chosen: "models.QuerySet[Any]") -> HttpResponse:
        try:
            return redirect(link.url_of(selected_rows(chosen)))
        except ValueError as refusal:
            return _refused(request, str(refusal))

    return do


def selected_rows(chosen: "models.QuerySet[Any]", *, none_left: str = NONE_LEFT) -> list[Any]:
    """The rows, in a fixed order: services take locks, and two operators may act at once.

    `none_left`: the text if none exists.

    Raises:
        ValueError: none exists, or there are too many; the text is for the operator.
    """
    rows = list(chosen.order_by("pk")[: MOST_ROWS + 1])
    if not rows:
        raise ValueError(none_left)
    if len(rows) > MOST_ROWS:
        raise ValueError(f"Select at most {MOST_ROWS} items at once.")
    return rows


def _refused(request: HttpRequest, reason: str) -> HttpResponse:
    """Return to the list, and show the reason."""
    messages.error(request, reason)
    return redirect(request.get_full_path())
