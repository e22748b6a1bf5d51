"""Runs that one looks at: recorded, drawn, stepped, played with."""
