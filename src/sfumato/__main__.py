"""`python -m sfumato`: the command line."""

import sys

from sfumato.cli import main

sys.exit(main())
