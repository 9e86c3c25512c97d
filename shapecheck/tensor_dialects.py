"""What the objects of other libraries say that stand beside a tensor's type in `Annotated`.

None of these libraries is imported: an object is known by the package and name of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shapecheck import dtypes, spec
from shapecheck.spec import dialects


@dataclass(frozen=True, slots=True)
class Said:
    """A shape and the dtypes that go with it.

    `is_stacked`: a list or tuple of tensors counts as one that is stacked of them.
    """

    shape: spec.Spec
    dtypes: dtypes.DTypes = dtypes.ANY
    is_stacked: bool = False

    @property
    def label(self) -> str:
        """The name of our own for the dtypes."""
        same = (name for name, mask in dtypes.CATEGORIES.items() if mask == self.dtypes)
        return next(same, "Shaped")

    def without(self, count: int) -> Said:
        """Return what is said of the items, `count` lists deep."""
        return Said(spec.Spec(self.shape.entries[count:]), self.dtypes)


def said(item: object) -> Said | None:
    """Return what an object says that stands beside a type; None if it is of no known library."""
    if isinstance(item, dict):
        return _torchtyping(item) if item.get("__torchtyping__") is True else None
    for cls in type(item).__mro__:
        reader = READERS.get((cls.__module__.partition(".")[0], cls.__name__))
        if reader is not None:
            return reader(item)
    return None


_ANY_SHAPE: Final = spec.Spec((spec.Group(None),))


def _mask(held: Iterable[object]) -> dtypes.DTypes:
    """Return the set of some dtypes of torch's; what else is among them is left out."""
    names = [str(one) for one in held]
    known = {dtypes.of(name[6:]) for name in names if name.startswith("torch.")}
    return sum(known) if known and dtypes.ANY not in known else dtypes.ANY


def _torchtyping(item: Mapping[str, Any]) -> Said:
    """Read what `TensorType[...]` keeps: a list of details."""
    shape, mask = _ANY_SHAPE, dtypes.ANY
    for detail in item["details"]:
        match type(detail).__name__:
            case "ShapeDetail":
                shape = dialects.of_slots((_name(dim.name), _size(dim.size)) for dim in detail.dims)
            case "DtypeDetail":
                mask &= _mask([detail.dtype])
            case "_FloatDetail":
                mask &= dtypes.FLOAT
    return Said(shape, mask)


def _name(name: object) -> str | None:
    return name if isinstance(name, str) else None


def _size(size: Any) -> dialects.Word | None:
    return None if isinstance(size, int) and size < 0 else size


def _dltype(item: Any) -> Said:
    """Read `FloatTensor["b c"]`, which keeps each dimension as a name and a postfix expression."""
    text = " ".join(map(_dimension, item.expected_shape))
    return Said(dialects.of_dltype(text), _mask(item.DTYPES))


def _dimension(dim: Any) -> str:
    if dim.is_anonymous:
        return "..."
    if dim.is_named_multiaxis:
        return f"*{dim.identifier}"
    stack: list[str] = []
    for token in dim.parsed_expression:
        operator = getattr(token, "value", None)
        if operator is None:
            stack.append(str(token))
        elif operator == "isqrt":
            stack.append(f"isqrt({stack.pop()})")
        else:
            right, left = stack.pop(), stack.pop()
            is_function = operator in ("min", "max")
            stack.append(
                f"{operator}({left},{right})" if is_function else f"({left}{operator}{right})"
            )
    size = stack.pop()
    return (
        f"{dim.identifier}={size}"
        if dim.identifier.isidentifier() and size != dim.identifier
        else size
    )


def _tensor_shape(item: Any) -> Said:
    """Read vLLM's `TensorShape("bn", 3, "h", dynamic_dims={"h"})`."""
    return Said(dialects.of_words(item.dims, item.dynamic_dims or ()), is_stacked=True)


READERS: Final[Mapping[tuple[str, str], Callable[[Any], Said]]] = {
    ("dltype", "TensorTypeBase"): _dltype,
    ("vllm", "TensorShape"): _tensor_shape,
}
"""What reads an object, by the package and the name of its class or of an ancestor."""
