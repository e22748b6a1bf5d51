"""Done once a day, however many hosts start it, and when."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

import soloist
from jobs.models import Run


class Command(BaseCommand):
    help = "What has to be done each night, once."

    def handle(self, *args: Any, **options: Any) -> None:
        today = timezone.now().date()
        with soloist.connect_sync() as client, client.lock("nightly", timeout=3600) as hold:
            if Run.objects.filter(job="nightly", day=today).exists():
                self.stdout.write("somebody else has done it")
                return
            time.sleep(0.2)  # the work
            hold.check()
            Run.objects.create(job="nightly", day=today, fence=hold.fence)
            self.stdout.write(f"done, fence {hold.fence}")
