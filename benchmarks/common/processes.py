"""One job in a process of its own, stopped after a time limit."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path


class NothingError(Exception):
    """Why a job gave nothing."""


class StoppedError(NothingError):
    """It ran out of time."""


def run(words: list[str], limit: float) -> float:
    """Seconds that a command took from start to end, starting of its interpreter and imports included.

    NothingError with what it said last if it failed. `limit` is of wall time; the message of a job that was
    stopped also gives its CPU time, which tells how much of a processor a shared machine left it.
    """
    with tempfile.TemporaryFile("w+") as said:
        before = _processor()
        started = time.perf_counter()
        child = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True, cwd=Path(words[1]).parent
        )
        try:
            code = child.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            used = _processor() - before
            raise StoppedError(f"stopped after {limit:g} s ({used:.0f} s of CPU time)") from None
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        ended = time.perf_counter()
        if code:
            said.seek(0)
            raise NothingError(_last_words(said.read()) or f"exit {code}")
    return ended - started


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _last_words(text: str) -> str:
    """The exception that ended a traceback, on one line; else the last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    ends = [
        number for number, line in enumerate(lines) if re.match(r"[A-Za-z_][\w.]*(Error|Exception)\b", line)
    ]
    return " ".join(" ".join(lines[ends[-1] if ends else -1 :]).split())[:300]
