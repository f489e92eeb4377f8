"""Everything that can be computed from private rows; one mechanism a file."""
