"""The metrics, one file a family; a new file with functions under `@metric("…")` is all a new one needs."""
