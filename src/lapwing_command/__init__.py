"""What the ``lapwing`` script starts. It is no part of `lapwing`, whose import takes a second.

Nothing else is imported before Ctrl-C is heeded: from a package inside `lapwing` its own
``__init__`` would come first, and an interrupted import would print a traceback.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> int:
    """Run the command line and return its exit code; 130 if it is interrupted before it begins."""
    try:
        from lapwing._app.cli import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return 130
