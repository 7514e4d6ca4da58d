"""`python -m soacraft.cli`."""

import sys

from soacraft.cli import main

sys.exit(main())
