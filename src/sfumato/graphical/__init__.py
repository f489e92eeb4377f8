"""Inference over discrete attributes: from noisy marginals to a joint distribution, and rows out of it.

Arrays in, arrays out. Attributes are numbers 0..d-1 with `sizes[a]` codes each; nothing here knows of tables,
files or privacy.

    sizes = (2, 3, 4)
    known = [Measurement((0, 1), counts_01, 5.0), Measurement((1, 2), counts_12, 5.0)]
    model = fit(sizes, known, total=1000)
    model.marginal((0, 2))                                   expected counts, also across cliques
    model.condition({0: np.array([True, False])})            the part of the table where attribute 0 is 0
    model.sample(10_000, np.random.default_rng(7))           one array of codes per attribute

Before measuring, `cells` (or `CellCounter`, while a set of cliques grows) says how large the model would be.

How it is built, bottom up:

    elimination      which attributes to sum out first
    junction_tree    the tree of cliques that makes exact inference possible; its size
    layout           how a clique's array lies in memory, is summed and multiplied
    beliefs          clique marginals that agree, and the messages that keep them so
    measurement      what was measured; pooling makes it consistent
    omega, proximal  the fitting method; mirror_descent is the second one
    fitting, model   `fit` and what it returns; query, sampling, storage serve the model
"""

from sfumato.graphical.fitting import fit
from sfumato.graphical.junction_tree import CellCounter, JunctionTree, cells, junction_tree
from sfumato.graphical.measurement import Measurement
from sfumato.graphical.model import GraphicalModel

__all__ = ["CellCounter", "GraphicalModel", "JunctionTree", "Measurement", "cells", "fit", "junction_tree"]
