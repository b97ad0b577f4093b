"""What reports mean, held against what was known before (decisions 8 "derived signals"). Pure."""
