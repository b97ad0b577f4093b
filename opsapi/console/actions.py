"""Actions of operators: each calls a service on behalf of the operator, if their roles allow it.

The console writes only with actions. Their permission is the `Access` of the API's own route, so a page and a
route always agree.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest

from opsapi.api.errors import ApiError, needs_role
from opsapi.api.permissions import Access, Where
from opsapi.api.principal import Actor, Operator
from opsapi.roles import INSTALLATION, Scope

if TYPE_CHECKING:
    from opsapi.console.forms import ConsoleForm


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionCall:
    """The input of an action: operator, time, row, and the form's `values`.

    `address` is the public URL of the platform, without a trailing slash, for texts that contain it.
    """

    operator: Operator
    now: datetime
    row: Any = None
    values: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""

    @property
    def actor(self) -> Actor:
        """The operator, in the form that services and events use."""
        return self.operator.actor()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """The result of an action.

    The next page shows `message` and `warnings`; it is the page of `row` if the action created a row. Without
    a message, the page names the action and the row. `url`: another next page. `template` with `context`
    replaces that page, for values that are shown only once. `after` runs once the action is committed, for
    what waits for another server, and returns the outcome that is shown.
    """

    message: str = ""
    warnings: Sequence[str] = ()
    row: Any = None
    url: str = ""
    template: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    after: "Callable[[], ActionOutcome] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRows:
    """The rows on which an action runs; locked, if the action has `hold`.

    `left_out`: a message about the rows that the action leaves out; empty if it leaves out none. Without
    rows, it is the refusal. `note` follows the message of success.
    """

    rows: Sequence[Any]
    left_out: str = ""
    note: str = ""


def _always(_row: Any, _now: datetime) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action of an operator on a row, or without a row for `add_action` and `list_actions`.

    `label`: the button, in the imperative, or "New" with the kind of object. `done`: the message after
    success. `text`: what the action does, shown on its page. `run`: calls the service and may raise its
    ApiError, which the page shows. `access`: the access of the API's route, or a function of the row that
    returns it. `button`: the page's button, if it is not the usual one. `form`: the input; without it, the
    page only asks for a confirmation. `primary`: what operators most often do on the
    page. `offered`: whether the action makes sense for a row now. `bulk`: also
    offered in the list, for all selected rows or none. `creates`: creates something or could be repeated, so
    that a page runs it once, however often it is submitted. `atomic`: False for actions that wait for other
    servers and must not hold a transaction meanwhile. `hold`: locks the rows of an atomic action before it
    runs, and leaves out rows that have changed since they were read; its call has no row.
    """

    label: str
    done: str = "Done"
    run: Callable[[ActionCall], ActionOutcome | None]
    access: Access | Callable[[Any], Access]
    form: "type[ConsoleForm] | None" = None
    text: str = ""
    button: str = ""
    icon: str = "arrow_forward"
    primary: bool = False
    danger: bool = False
    bulk: bool = False
    creates: bool = False
    offered: Callable[[Any, datetime], bool] = _always
    atomic: bool = True
    hold: Callable[[ActionCall, Sequence[Any]], ActionRows] | None = None

    def access_of(self, row: Any) -> Access:
        """Return the access for this row."""
        return self.access if isinstance(self.access, Access) else self.access(row)

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """Check that the operator may run the action on this row in this scope.

        Raises:
            ApiError: as the API's route would.
        """
        access = self.access_of(row)
        if access.where is Where.SOMEWHERE:
            if not operator.holds_somewhere(access.roles):
                raise needs_role(access.roles)
            return
        wanted = INSTALLATION if access.where is Where.INSTALLATION else scope
        if access.where is Where.ORG:
            wanted = Scope(org_id=scope.org_id)
        operator.authorise_at(access.roles, wanted)

    def is_allowed(self, operator: Operator, row: Any, scope: Scope) -> bool:
        """As `authorise`, but returns a boolean."""
        try:
            self.authorise(operator, row, scope)
        except ApiError:
            return False
        return True

    def is_allowed_somewhere(self, operator: Operator) -> bool:
        """Whether the operator may run the action in any scope; for an action without a row."""
        return operator.holds_somewhere(self.access_of(None).roles)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOfRows:
    """A link from rows to a form: an entry among the actions of a list, or a button of the page of a row.

    `access`: of the form. `url_of`: the URL of the form for these rows; raises ValueError with the reason if
    the rows cannot have it.
    """

    name: str
    label: str
    icon: str
    access: Access
    url_of: Callable[[Sequence[Any]], str]


def buttons_of(
    links: Iterable[LinkOfRows], operator: Operator, rows: Sequence[Any], scope: Scope
) -> list[dict[str, Any]]:
    """Return a button for each link that the operator can use for these rows of the scope."""
    buttons: list[dict[str, Any]] = []
    for link in links:
        with suppress(ApiError, ValueError):
            operator.authorise_at(link.access.roles, scope)
            buttons.append({"name": link.name, "action": link, "url": link.url_of(rows)})
    return buttons


def operator_of(request: HttpRequest) -> Operator:
    """Return the operator of this session. Use it only in views that the site protects."""
    return cast(Operator, request.auth)  # type: ignore[attr-defined]  # `accesslist.login.middleware.operator` sets it
