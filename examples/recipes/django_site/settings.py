"""The least that Django needs for the recipe."""

import os

SECRET_KEY = "only for the recipe"
INSTALLED_APPS = ["jobs"]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DATABASE", "shop.sqlite")}
}
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
