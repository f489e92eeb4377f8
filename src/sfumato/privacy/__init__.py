"""The only door to private rows.

Read in this order to check the claim: `unit` (what one person can change), `mechanisms/` (everything that
is ever computed from rows, each with its sensitivity and its noise), `filter` (what may still be spent),
`ledger` (what was spent), `curator` (charge first, then answer), `statement` (what the charges add up to).
"""
