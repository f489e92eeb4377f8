"""The interface of objects: a synthesizer with a generator and a privacy mechanism; docs/interface.md.

It is built on the verbs of `sfumato.api` alone and reads no row by itself.
"""
