"""What alerting answers, by noun."""
