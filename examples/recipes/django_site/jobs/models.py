"""Which jobs have been done, and by whose turn: the lock forgets, the database does not."""

from __future__ import annotations

from django.db import models


class Run(models.Model):
    job = models.CharField(max_length=100)
    day = models.DateField()
    fence = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "day"], name="once_a_day")]
