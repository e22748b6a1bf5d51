"""Benchmarks: our figures beside those of others, measured in one run, as ratios."""
