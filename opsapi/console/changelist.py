"""The list of a model's rows."""

from typing import Any

from django.http import HttpRequest
from unfold.views import ChangeList


class ConsoleChangeList(ChangeList):  # type: ignore[misc]  # the theme is not typed
    """Named after what it lists; says how many were found only where something was looked for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        plural = str(self.opts.verbose_name_plural)
        self.title = plural[0].upper() + plural[1:]

    def get_results(self, request: HttpRequest) -> None:
        """Without search and filters what was found is all there is."""
        super().get_results(request)
        if not (self.query or self.has_active_filters):
            self.full_result_count = self.result_count
        self.model_admin.prepare(list(self.result_list))
