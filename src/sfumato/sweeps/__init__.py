"""Many fits of one table, compared: methods, epsilons and repetitions.

What is compared here are private rows with synthetic ones. The result is for the curator of the table:
nothing in it is protected, and to choose by it is itself a release (see `page`).
"""
