"""The forms that make and change alert configurations; what they ask, `alerting.config_form` says."""
