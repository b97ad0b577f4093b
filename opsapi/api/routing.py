"""Routes: a path template and what each method does there."""

from typing import Any

from django.urls import URLPattern, path

from opsapi.api.views import ApiViewSet


def route(
    template: str,
    viewset: type[ApiViewSet],
    *,
    deprecated: bool = False,
    name: str | None = None,
    **actions: Any,
) -> URLPattern:
    """A path such as `groups/<group_id>/alerts`; `get="index", post="create"` name the actions.

    `deprecated`: the path is an older name of another one, and the OpenAPI document says so.
    """
    return path(template, viewset.as_view(actions, deprecated=deprecated), name=name)
