"""Facts that the schema does not state, bought under differential privacy.

Everything here talks to a Curator: `votes` (what type a column of text has, decimals, missing values),
`grids` (bounds and cells of numbers and dates), `discover` (the order of questions, their shares, and
the complete schema that results).
"""
