"""Pure decisions: functions of immutable values and `now` that return a reason."""
