"""Fitted models: drawing rows, model files, verification."""
