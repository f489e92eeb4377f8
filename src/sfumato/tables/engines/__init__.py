"""One file for each kind of table; each registers itself with `sfumato.tables.source.engines`."""
