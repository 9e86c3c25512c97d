"""What is known of each tensor-valued expression of a module, and why the rest isn't.

`watching` sees through an observer what expressions are worth while a part is checked, `measure`
says which of them count and how many are known, `causes` goes back through the code to where a
shape was lost, `source_words` says it in the words of the source. `unread` finds annotations in a
form that isn't read. Uses `library` and what is below it; `check` asks it.
"""
