"""The command tree, and what happens to errors: a message and an exit code, never a traceback (unless
--debug).
"""

from __future__ import annotations

import os
import sys
import warnings

from cyclopts import App, CycloptsError

from sfumato import __version__
from sfumato.cli.console import say_error
from sfumato.errors import SfumatoError

app = App(
    name="sfumato",
    help="Differentially private synthetic data for tables.",
    version=__version__,
    version_flags=["--version"],
    help_format="plaintext",
    default_parameter=None,
)
app.command("sfumato.cli.generate:generate")
app.command("sfumato.cli.fit:fit")
app.command("sfumato.cli.sample:sample")
app.command("sfumato.cli.inspect:inspect")
app.command("sfumato.cli.verify:verify")
app.command("sfumato.cli.assert_dp:assert_dp", name="assert-dp")
app.command("sfumato.cli.methods:methods")
schema = App(name="schema", help="Draft, check and show schema files.", help_format="plaintext")
schema.command("sfumato.cli.schema:draft")
schema.command("sfumato.cli.schema:lint")
schema.command("sfumato.cli.schema:show")
app.command(schema)
ledger = App(name="ledger", help="Read the persistent ledger of a data set.", help_format="plaintext")
ledger.command("sfumato.cli.ledger:show")
ledger.command("sfumato.cli.ledger:limit")
app.command(ledger)


def run(arguments: list[str]) -> int:
    """Dispatch, and turn every outcome into an exit code."""
    debug = "--debug" in arguments
    arguments = [word for word in arguments if word != "--debug"]
    warnings.simplefilter("ignore")
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except CycloptsError as error:
        say_error(str(error) or type(error).__name__)
        return 2
    except SfumatoError as error:
        if debug:
            raise
        say_error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say_error("interrupted; what was charged stays charged")
        return 130
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
        return 1
    except Exception as error:
        if debug:
            raise
        # The text of the exception may quote the input; its type does not.
        say_error(f"a fault in sfumato ({type(error).__name__}); run again with --debug and report it")
        return 1
    return 0
