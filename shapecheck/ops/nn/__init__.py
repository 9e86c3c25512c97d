"""Rules of layers and losses: as functions, as modules, and what their weights must be.

Imports `shape` and the files beside the folders; nothing else of the package uses it by name.
"""
