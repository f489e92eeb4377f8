"""What the tests of trained networks share; they are skipped where torch is not installed."""

from __future__ import annotations

import importlib.util

import pytest

collect_ignore = ["tables.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs torch, with the reason."""
    if importlib.util.find_spec("torch") is None:
        for item in items:
            if "tests/deep" in str(item.path):
                item.add_marker(
                    pytest.mark.skip(reason="torch is not installed: pip install 'sfumato[deep]'")
                )
