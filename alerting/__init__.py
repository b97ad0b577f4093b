"""From signal to notification: alert configurations, alerts, rules, the worker."""
