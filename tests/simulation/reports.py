"""Under which name a test records what the end of the run tells."""

SIMULATED = "simulated"
