"""Rules of ops that rearrange, pick, join and lay out axes, and of sequences and padding.

Other rooms use what one file states for all: `of_rank` and `permute` of `axes`, `flatten` and
`unflatten` of `reshape`, `concatenate`, `stack` and `same_shape` of `joining`, `getitem` and
`fit_into` of `indexing`, and `first_class` for first-class dimensions.

Imports the files beside the folders, and no other room.
"""
