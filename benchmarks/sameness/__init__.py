"""What `same.py` is made of: the programs, the trees, what a tree says, and what is kept of it."""
