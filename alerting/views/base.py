"""Shared code of views: the log of notifications as the caller may see it."""

from django.utils.functional import cached_property

from accesslist.views.base import KeyViewSet
from alerting.selectors.notification_log import LoggedRow
from alerting.serializers.notification_log import present_logged
from opsapi.roles import INSTALLATION, Role
from opsapi.wire_json import JsonObject


class LogViewSet(KeyViewSet):
    """A view that shows notifications of the log."""

    def present_logged(self, row: LoggedRow) -> JsonObject:
        """A notification, with its recipient if the caller may read its configuration."""
        return present_logged(row, with_recipient=self.reads_config(is_global=row["is_global"]))

    def reads_config(self, *, is_global: bool) -> bool:
        """Whether the caller may read the configuration, and so its recipients."""
        return not is_global or self._reads_global_configs

    @cached_property
    def _reads_global_configs(self) -> bool:
        return self.caller.holds(Role.GLOBAL_READ_ONLY, INSTALLATION)
