"""``python -m hypergnn`` is the command ``hypergnn``."""

import sys

from hypergnn.cli import main

if __name__ == "__main__":
    sys.exit(main(program="python -m hypergnn"))
