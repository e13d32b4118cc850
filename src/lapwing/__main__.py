"""``python -m lapwing`` is the ``lapwing`` command."""

from __future__ import annotations

import sys

from lapwing._app.cli import main

if __name__ == "__main__":
    sys.exit(main())
