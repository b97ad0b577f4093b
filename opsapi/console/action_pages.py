"""The page on which an action is done: to one row, to many, or to none yet."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.console.actions import Action, Call, Outcome, operator_of
from opsapi.console.forms import ConsoleForm

if TYPE_CHECKING:
    from opsapi.console.model_admin import ConsoleAdmin

MOST_ROWS = 500
"""So many rows an action is done to at once."""
_SAVE = "Save"
CONFIRMED = "confirmed"
"""The field that tells an answer to the page from the list's request to show it."""


class ActionPage:
    """One request for one action; `rows` is what it is done to, [None] where it makes a row.

    `name` is the action's in the list it was chosen in.
    """

    def __init__(
        self, admin: "ConsoleAdmin", request: HttpRequest, action: Action, rows: Sequence[Any], name: str = ""
    ):
        self.admin, self.request, self.action, self.rows, self.name = admin, request, action, rows, name
        self.operator = operator_of(request)
        self.now = clock.now()
        self.is_new = rows == [None]

    def answer(self) -> HttpResponse:
        """The page, or, when it was answered, what came of it.

        Raises:
            ApiError: USER_UNAUTHORIZED and the like, where the operator may not.
        """
        for row in self.rows:
            if row is not None:
                self.action.authorise(self.operator, row, self.admin.scope_of(row))
        form = self._form()
        if self.request.method != "POST" or CONFIRMED not in self.request.POST or not form.is_valid():
            return self._page(form)
        try:
            outcomes = self._run(form)
        except ApiError as refusal:
            form.tell(refusal)
            return self._page(form)
        return self._next(outcomes)

    def _form(self) -> ConsoleForm:
        kind = self.action.form or ConsoleForm
        row = self.rows[0] if len(self.rows) == 1 else None
        if CONFIRMED in self.request.POST:
            return kind(self.request.POST, operator=self.operator, row=row)
        initial = {name: text for name, text in self.request.GET.items() if name in kind.from_address}
        return kind(initial=initial, operator=self.operator, row=row)

    def _run(self, form: ConsoleForm) -> list[Outcome]:
        """To all of the rows or to none."""
        with transaction.atomic() if self.action.atomic else nullcontext():
            return self._run_each(form)

    def _run_each(self, form: ConsoleForm) -> list[Outcome]:
        if self.is_new:
            self.action.authorise(self.operator, None, form.scope())
        calls = [Call(operator=self.operator, now=self.now, row=row, values=form.values) for row in self.rows]
        return [self.action.run(call) or Outcome() for call in calls]

    def _next(self, outcomes: Sequence[Outcome]) -> HttpResponse:
        only = outcomes[0] if len(outcomes) == 1 else None
        if only and only.template:
            return self._answer(only.template, {**only.context, "row_url": self.admin.page_url(only.row)})
        for warning in dict.fromkeys(warning for one in outcomes for warning in one.warnings):
            messages.warning(self.request, warning)
        messages.success(self.request, self._told(only, len(outcomes)))
        if only is None:
            return redirect(self.admin.list_url())
        return redirect(self.admin.page_url(only.row or self.rows[0]))

    def _told(self, only: Outcome | None, number: int) -> str:
        if only and only.message:
            return only.message
        what = (
            _as_it_is(only.row or self.rows[0]) if only else f"{number} {self.admin.opts.verbose_name_plural}"
        )
        return f"{self.action.done}: {what}."

    def _page(self, form: ConsoleForm) -> HttpResponse:
        context = {
            "action": self.action,
            "button": _SAVE if self.is_new else self.action.label,
            "form": form,
            "media": self.admin.media + form.media,
            "rows": [] if self.is_new else self.rows,
            "name_of_action": self.name,
            "confirmed": CONFIRMED,
            "back": self.admin.list_url() if len(self.rows) > 1 else self.admin.page_url(self.rows[0]),
        }
        return self._answer("console/action.html", context)

    def _answer(self, template: str, context: Mapping[str, Any]) -> HttpResponse:
        site = self.admin.admin_site.each_context(self.request)
        shown = {**site, "title": self.action.label, "opts": self.admin.opts, **context}
        return TemplateResponse(self.request, template, shown)


def _as_it_is(row: Any) -> Any:
    """With the name it bears now, or bore when it went."""
    return type(row)._default_manager.filter(pk=row.pk).first() or row
