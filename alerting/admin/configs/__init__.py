"""Alert configurations in the console."""

from alerting.admin.configs.pages import AlertConfigAdmin, NotificationSettingAdmin

__all__ = ["AlertConfigAdmin", "NotificationSettingAdmin"]
