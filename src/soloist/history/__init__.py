"""Histories of any lock service: who was in when, judged afterwards by what was written down."""

from soloist.history.review import Review, check
from soloist.history.timeline import text

__all__ = ["Review", "check", "text"]
