"""`python -m soacraft`: the command line."""

import sys

from soacraft.cli import main

if __name__ == "__main__":
    sys.exit(main())
