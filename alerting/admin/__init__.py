"""Alerting in the console: alerts, notifications, maintenance windows and configurations."""

from alerting.admin import alerts, configs, destinations, notifications, windows

__all__ = ["alerts", "configs", "destinations", "notifications", "windows"]
