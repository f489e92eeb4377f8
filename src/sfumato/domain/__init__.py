"""Values and codes: the facts of a column by kind, and the public maps from raw cells to small integers.

`column` and `kinds` hold what is known of a column, `codecs` turns it into an encoder that can also decode,
`views` coarsens one. Nothing here sees more than the block it is given, and no row depends on another.
"""
