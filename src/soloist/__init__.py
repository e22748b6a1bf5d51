"""Distributed mutual exclusion: written once, simulated, checked, watched and held."""

__version__ = "0.1.0"
