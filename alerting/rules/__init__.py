"""Pure decisions: functions of frozen values and `now` that answer with a reason."""
