"""What a program asks and says of a tensor's names in the middle of its code.

`questions` has `dims_of`, `reveal_shape` and what `isinstance` asks (`is_instance`), `claims` has
`named` and `assert_shape`.

Imports `boundary`, `compiling`, `naming` and `annotations`.
"""
