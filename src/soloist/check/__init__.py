"""The model checker: every run of a small system, over the very code that is simulated and deployed."""

from soloist.check.advice import advice
from soloist.check.counterexample import Step, script, walk
from soloist.check.explore import Graph, Limits, Progress, explore
from soloist.check.judge import check
from soloist.check.mistakes import Mistake, mistakes
from soloist.check.properties import PROPERTIES, promised
from soloist.check.reductions import REDUCTIONS, Space
from soloist.check.report import Report, text
from soloist.check.setting import UNBOUNDED, Setting, setting
from soloist.check.worst import MEASURES

__all__ = [
    "MEASURES",
    "PROPERTIES",
    "REDUCTIONS",
    "UNBOUNDED",
    "Graph",
    "Limits",
    "Mistake",
    "Progress",
    "Report",
    "Setting",
    "Space",
    "Step",
    "advice",
    "check",
    "explore",
    "mistakes",
    "promised",
    "script",
    "setting",
    "text",
    "walk",
]
