"""The console's forms of alerting, a file for each noun."""
