"""The console's forms of the fleet and its desired state, a file for each noun."""
