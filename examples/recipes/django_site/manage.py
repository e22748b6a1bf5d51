"""Django: a management command that may be started on every host, and does its work on one of them, once a day.

SOLOIST_URL=unix:/run/soloist/soloist.sock python manage.py nightly
"""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
    execute_from_command_line(sys.argv)
