"""`python -m soloist` is the command line."""

from soloist.cli import entry_point

entry_point()
