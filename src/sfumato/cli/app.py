"""The command tree, and what happens to errors: a message and an exit code, never a traceback (unless
--debug).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.exceptions import MissingArgumentError, UnknownOptionError, UnusedCliTokensError

from sfumato import __version__
from sfumato.cli import ledger as _ledger
from sfumato.cli import schema as _schema
from sfumato.cli.assert_dp import assert_dp
from sfumato.cli.attack import attack
from sfumato.cli.console import say_error
from sfumato.cli.dpcheck import dpcheck
from sfumato.cli.draw import draw
from sfumato.cli.evaluate import evaluate
from sfumato.cli.fit import fit
from sfumato.cli.generate import generate
from sfumato.cli.inspect import inspect
from sfumato.cli.methods import methods
from sfumato.cli.plan import plan
from sfumato.cli.sample import sample
from sfumato.cli.sweep import benchmark, sweep
from sfumato.cli.verify import verify
from sfumato.errors import SfumatoError

_EPILOGUE = (
    "Exit codes: 0 done; 1 the job cannot be done as asked (number of rows, budget); 2 bad usage or bad "
    "input; 3 the guarantee does not hold. --debug, with any command, shows the traceback of an error; it "
    "may quote private values."
)
_MAKE = Group("Make synthetic data", sort_key=1)
_CHECK = Group("Check a model", sort_key=2)
_JUDGE = Group("Judge synthetic rows (reads the real ones, not private)", sort_key=3)
_PREPARE = Group("Prepare, and keep account", sort_key=4)


def _default(value: Any) -> Any:
    """What a help page says of a default: nothing where the text says it, or where it is 'no'; a list as it
    is typed.
    """
    if isinstance(value, tuple) and value:
        return ",".join(f"{each:g}" for each in value)
    return None if value is None or value is False or value in ((), "") else value


def _app(name: str, text: str, **more: Any) -> App:
    return App(
        name=name,
        help=text,
        **more,
        help_format="markdown",
        help_flags=["--help", "-h"],
        version_flags=[],
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(show_default=_default, consume_multiple=False),
    )


_USAGE = {
    "generate": "TABLE -o FILE --epsilon E [OPTIONS]",
    "fit": "TABLE -o FILE --epsilon E [OPTIONS]",
    "sample": "MODEL -o FILE [OPTIONS]",
    "dpcheck": "MODEL [OPTIONS]",
    "evaluate": "REAL SYNTHETIC [OPTIONS]",
    "sweep": "TABLE [OPTIONS]",
    "benchmark": "TABLE [OPTIONS]",
}
"""Commands with files that can be given in their place or by an option: what is needed all the same."""

app = _app(
    "sfumato",
    """Differentially private synthetic data for tables.

Start with: sfumato generate TABLE.csv -o synthetic.csv --epsilon 1
""",
)


def _usage_of(command: Any) -> dict[str, str]:
    name = command.__name__
    return {"usage": f"Usage: sfumato {name} {_USAGE[name]}"} if name in _USAGE else {}


app.version, app.version_flags = __version__, ("--version",)
app.help_epilogue = _EPILOGUE
app.group_commands = Group("Options", sort_key=9)
for place, (command, group) in enumerate(
    [
        (generate, _MAKE),
        (fit, _MAKE),
        (sample, _MAKE),
        (draw, _MAKE),
        (verify, _CHECK),
        (assert_dp, _CHECK),
        (dpcheck, _CHECK),
        (inspect, _CHECK),
        (evaluate, _JUDGE),
        (attack, _JUDGE),
    ]
):
    app.command(command, group=group, sort_key=place, **_usage_of(command))
app.command(plan, group=_PREPARE, sort_key=1)
app.command(methods, group=_PREPARE, sort_key=2)
app.command(sweep, group=_PREPARE, sort_key=4, **_usage_of(sweep))
app.command(benchmark, group=_PREPARE, sort_key=5, **_usage_of(benchmark))
schema = _app(
    "schema",
    "Draft, check and show schema files: what may be known of a table without cost.",
    group=_PREPARE,
    group_commands=Group("Commands"),
    sort_key=0,
)
for command in (_schema.draft, _schema.lint, _schema.show):
    schema.command(command)
ledger = _app(
    "ledger",
    "Read the ledger file of a data set, and limit what its runs may spend.",
    group=_PREPARE,
    group_commands=Group("Commands"),
    sort_key=3,
)
for command in (_ledger.show, _ledger.limit):
    ledger.command(command)
app.command(schema)
app.command(ledger)


def run(arguments: list[str]) -> int:
    """Dispatch, and turn every outcome into an exit code."""
    debug = "--debug" in arguments
    arguments = [word for word in arguments if word != "--debug"]
    with warnings.catch_warnings(), _terminable():
        # What a user should know is said by the commands; a library's remarks may quote values.
        warnings.simplefilter("ignore")
        return _run(arguments, debug=debug, json="--json" in arguments)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, treated as an interrupt so that half-written files are taken away."""


def _terminate(*_: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the clean-up is not to be interrupted
    raise _Terminated


@contextmanager
def _terminable() -> Generator[None]:
    """While it lasts SIGTERM ends a run in good order; only the main thread can arrange that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _run(arguments: list[str], *, debug: bool, json: bool) -> int:
    def failed(code: int, text: str) -> int:
        say_error(text, code=code, json=json)
        return code

    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except CycloptsError as error:
        return failed(2, _usage(error))
    except SfumatoError as error:
        if debug:
            raise
        return failed(error.exit_code, str(error))
    except KeyboardInterrupt as stop:
        terminated = isinstance(stop, _Terminated)
        text = f"{'terminated' if terminated else 'interrupted'}; what was charged stays charged"
        return failed(143 if terminated else 130, text)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
        return 1
    except Exception as error:
        if debug:
            raise
        # The text of the exception may quote the input; its type does not.
        name = type(error).__name__
        return failed(1, f"a fault in sfumato ({name}); run again with --debug and report it")
    return 0


def _usage(error: CycloptsError) -> str:
    """What is wrong with the words of a command line, and where to read more."""
    chain = " ".join(["sfumato", *(error.command_chain or ())])
    argument = getattr(error, "argument", None)
    if isinstance(error, MissingArgumentError) and argument is not None:
        name = argument.name if argument.name.startswith("-") else argument.name.upper()
        given = any(token.keyword == name for token in argument.tokens)
        what = f"{name} needs a value" if given else f"{chain} needs {name}"
    elif isinstance(error, UnusedCliTokensError) and not isinstance(error, UnknownOptionError):
        extra = " ".join(map(repr, error.unused_tokens or ()))
        what = f"{chain} does not know what to do with {extra}"
    else:
        what = (str(error) or type(error).__name__).rstrip(".")
    return f"{what}\n  see {chain} --help"
