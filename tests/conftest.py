"""Settings of all tests."""

from hypothesis import settings

# No test asserts how long something takes.
settings.register_profile("sfumato", deadline=None)
settings.load_profile("sfumato")
