"""What synthetic rows give away about people, found by attacking them.

Everything here reads private rows without noise: results are for the holder of the data. An attack that finds
nothing proves nothing; the guarantee of a release is in its ledger, not here.

    people       who is attacked, who is the control, what the attacker has
    space, distances                 records as points, and their neighbours in bounded memory
    intervals, ceiling               what chance, and what a stated guarantee, leave room for
    attack       the registry, and the run of all attacks
    suite/       the attacks, one file each
    shadow       the slow attack, which fits models of its own
"""
