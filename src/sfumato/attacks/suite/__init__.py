"""The attacks, one file each."""
