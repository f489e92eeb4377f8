"""Where rows live, how they are counted, and where synthetic rows go.

`source` opens anything that holds a table, `counting` turns rows into tables of counts (the only way
rows are used), `limit` keeps at most m rows of each person, `sinks` write. The kinds of table are one
file each in `engines`.
"""
