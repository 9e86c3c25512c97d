"""What is known of each tensor-valued expression of a module, and why the rest isn't.

`measure` watches a check through an observer, `causes` goes back through the code to where a shape
was lost, `source_words` says it in the words of the source. Uses `check` and what is below it.
"""
