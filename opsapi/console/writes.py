"""The only ways the console writes: services, named as data by the admin classes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import models, transaction
from django.forms import ModelForm
from django.http import HttpRequest

from opsapi import clock
from opsapi.api.addresses import client_address
from opsapi.api.principal import Actor, ActorKind


class ServiceForm(ModelForm[Any]):
    """A form whose values go to a service; it never saves its instance itself."""

    def service_values(self) -> Mapping[str, Any]:
        """The service's keyword arguments beside `actor` and `now`, from the cleaned data."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class AddService:
    """A service that makes a row from a form."""

    service: Callable[..., Any]
    form: type[ServiceForm]

    def run(self, request: HttpRequest, form: ServiceForm) -> Any:
        """Make it; answers what the service answers.

        Raises:
            ApiError: what the service refuses.
        """
        return self.service(**form.service_values(), actor=actor_of(request), now=clock.now())


@dataclass(frozen=True, slots=True)
class RowService:
    """A service that does something to one row, which it takes under the keyword `row`."""

    service: Callable[..., Any]
    row: str
    values: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    """What an action is called in the list."""

    @transaction.atomic
    def run(self, request: HttpRequest, rows: models.QuerySet[Any]) -> int:
        """Do it to each of the rows, to all or to none; answers how many they were.

        Raises:
            ApiError: what the service refuses.
        """
        actor, now = actor_of(request), clock.now()
        # In one order: services take locks, and two operators may act at once.
        chosen = list(rows.order_by("pk"))
        for one in chosen:
            self.service(**{self.row: one}, **self.values, actor=actor, now=now)
        return len(chosen)


def actor_of(request: HttpRequest) -> Actor:
    """The user of the session, as services and events take them. Only behind the site's permission."""
    user = request.user
    address = client_address(request)
    return Actor(
        kind=ActorKind.USER,
        id=str(user.pk),
        name=user.get_username(),
        is_global_admin=bool(user.is_staff),
        remote_address=str(address) if address else None,
    )
