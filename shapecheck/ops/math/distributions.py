"""torch.distributions: the shapes of samples, of log-probabilities and of statistics.

A distribution's batch shape comes from its parameters; its event shape is the last axes of a
sample that belong together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from shapecheck import dtypes
from shapecheck.ops.agree import counted
from shapecheck.ops.call import (
    RULES,
    UNKNOWN,
    Call,
    Opaque,
    Sizes,
    Value,
    as_shape,
    as_size,
    as_tensor,
    rule,
)
from shapecheck.ops.promotion import promote_values
from shapecheck.shapes import Run, Shape, Tensor, has_run, mismatch

_SETTINGS: Final = frozenset("validate_args temperature lims dim".split())
_MATRICES: Final = frozenset("covariance_matrix precision_matrix scale_tril cov_factor".split())


_EXPANDED: Final = "expanded batch_shape"
"""Under which an expanded distribution has its batch, beside the parameters that it was made of."""


@dataclass(frozen=True, slots=True)
class Form(Opaque):
    """What is known of a distribution: its batch, its events, its dtype.

    `axis` is the last axis of the parameters where a sample is an index into it.
    """

    batch: Shape
    event: Shape
    kind: dtypes.DTypes
    axis: Shape = field(default_factory=lambda: Shape(()))


def form(call: Call, owner: Value) -> Form:
    """Return what is known of a distribution by the arguments that it was made of."""
    if isinstance(owner, Form):
        return owner
    if not isinstance(owner, Mapping):
        return _ANY
    if _EXPANDED in owner:
        rest = {key: value for key, value in owner.items() if key != _EXPANDED}
        return replace(form(call, rest), batch=as_shape(owner[_EXPANDED]))
    if not _is_composed(owner):
        return _plain(call, owner)
    found = RULES[str(owner["_form"])](call, self=owner)
    assert isinstance(found, Form)
    return found


def _is_composed(owner: Mapping[str, Value]) -> bool:
    """Whether it is made of other distributions; `_form` is then the rule that says how."""
    return "_form" in owner


def _is_setting(key: str) -> bool:
    """Whether an attribute is no parameter; what begins with `_` is said of the whole class."""
    return key.startswith("_") or key in _SETTINGS


def _last_axes(owner: Mapping[str, Value]) -> int:
    """Return how many axes its parameters have behind the batch's, matrices apart."""
    count = owner.get("_last_axes")
    return count if isinstance(count, int) else 0


def _draws_indices(owner: Mapping[str, Value]) -> bool:
    """Whether a sample is an index into the last axis of the parameters."""
    return owner.get("_draws_indices") is True


def parameters(owner: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return what a distribution was made of, settings left out."""
    given = {key: v for key, v in owner.items() if v is not None and not _is_setting(key)}
    if _last_axes(owner):  # a number is how often a multinomial draws
        return {key: value for key, value in given.items() if isinstance(value, Tensor)}
    return given


def events(owner: Mapping[str, Value], key: str) -> int:
    """Return how many axes of a parameter, the last ones, aren't the batch's."""
    return 2 if key in _MATRICES else _last_axes(owner)


_ANY: Final = Form(Shape.unknown(), Shape.unknown(), dtypes.ANY, Shape.unknown())


def _plain(call: Call, owner: Mapping[str, Value]) -> Form:
    last = _last_axes(owner)
    given = parameters(owner)
    said = (value for key, value in owner.items() if not _is_setting(key))
    if not given or UNKNOWN in said:
        return Form(Shape.unknown(), _event(Shape.of_rank(last), owner), dtypes.ANY)
    kind = dtypes.to_float(promote_values(*given.values()))
    batches: list[Tensor] = []
    ends: list[Shape] = []
    for key, value in given.items():
        shape = call.facts.shape(as_tensor(value).shape)
        parts = parted(shape, events(owner, key))
        if parts is None:
            return Form(Shape.unknown(), _event(Shape.of_rank(last), owner), kind)
        batches.append(Tensor(parts[0]))
        ends.append(parts[1])
    if owner.get("_by_name") is True:
        batches = _by_name(call, batches)
    batch = call.broadcast(batches)
    end = ends[-1] if owner.get("_draws_matrices") is True else ends[0]
    if _draws_indices(owner):
        return Form(batch, Shape(()), kind, end)
    return Form(batch, _event(end, owner), kind, end)


def _by_name(call: Call, batches: list[Tensor]) -> list[Tensor]:
    """Return the batches of parameters, laid on the one that has the names of all."""
    found = RULES["named.within"](call, tensors=tuple(batches))
    return [as_tensor(one) for one in found] if isinstance(found, tuple) else batches


def _event(last: Shape, owner: Mapping[str, Value]) -> Shape:
    """Return the event shape of a distribution whose parameters end in some axes."""
    if owner.get("_draws_squares") is True:
        return Shape((as_size(owner.get("dim")),) * 2)
    if owner.get("_adds_one") is True:
        return Shape(tuple(as_size(item) + 1 for item in last.dims if not isinstance(item, Run)))
    return Shape(()) if _draws_indices(owner) else last


def parted(shape: Shape, count: int) -> tuple[Shape, Shape] | None:
    """Return the axes before the last few, and these; None where they aren't known."""
    at = len(shape.dims) - count
    if at < 0 or has_run(shape.dims[at:]):
        return None
    return Shape(shape.dims[:at]), Shape(shape.dims[at:])


@rule("distribution.independent")
def independent(call: Call, self: Mapping[str, Value]) -> Form:
    """Return a distribution some of whose batch axes are of the event."""
    base = form(call, self["base_distribution"])
    count = self["reinterpreted_batch_ndims"]
    if isinstance(count, bool) or not isinstance(count, int):
        return Form(Shape.unknown(), Shape.unknown(), base.kind)
    if base.batch.rank is not None and count > base.batch.rank:
        raise mismatch(
            f"the batch {base.batch} has no {counted(count, 'axis')}",
            f"can't take {counted(count, 'axis')} of the batch as axes of the event",
            about=(base.batch,),
        )
    parts = parted(base.batch, count)
    if parts is None:
        return Form(Shape.unknown(), Shape.unknown(), base.kind)
    return Form(parts[0], Shape((*parts[1].dims, *base.event.dims)), base.kind)


@rule("distribution.mixture")
def mixture(call: Call, self: Mapping[str, Value]) -> Form:
    """Return a mixture: the component's batch without its last axis."""
    mixed = form(call, self["mixture_distribution"])
    component = form(call, self["component_distribution"])
    parts = parted(component.batch, 1)
    if parts is None:
        return Form(Shape.unknown(), component.event, component.kind)
    count, wanted = mixed.axis.at(-1), parts[1].at(0)
    if count is not None and wanted is not None and not call.unify(count, wanted):
        raise mismatch(
            f"there are {count} weights, and the last axis of the components is {wanted}",
            f"can't mix components of {component.batch}",
            about=(count, wanted),
        )
    return Form(parts[0], component.event, component.kind)


@rule("distribution.transformed")
def transformed(call: Call, self: Mapping[str, Value]) -> Form:
    """Return a distribution whose samples are changed, one by one as far as is known."""
    base = form(call, self["base_distribution"])
    given = self["transforms"]
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if all(isinstance(part, Mapping) and part.get("_is_elementwise") is True for part in parts):
        return base
    return Form(Shape.unknown(), Shape.unknown(), base.kind)


def _joined(*parts: Shape) -> Shape:
    return Shape(tuple(item for part in parts for item in part.dims))


@rule("drawn")
def drawn(call: Call, self: Mapping[str, Value], sample_shape: Value = (), **rest: Value) -> Tensor:
    """Return samples: the shape that is asked for, the batch, the event."""
    found = form(call, self)
    sample_shape = rest.get("n", sample_shape)
    kind = dtypes.INT64 if _draws_indices(self) else found.kind
    return Tensor(_joined(as_shape(sample_shape), found.batch, found.event), kind)


@rule("expanded")
def expanded(call: Call, self: Mapping[str, Value], batch_shape: Value, **rest: Value) -> Value:
    """Return the distribution with a larger batch."""
    if not isinstance(batch_shape, (tuple, list)):
        return UNKNOWN
    batch = as_tensor(RULES["expand"](call, Tensor(form(call, self).batch), batch_shape)).shape
    if _is_composed(self):
        return {**self, _EXPANDED: Sizes(batch.dims)}
    return {**self, **{k: _grown(self, k, v, batch) for k, v in parameters(self).items()}}


def _grown(owner: Mapping[str, Value], key: str, value: Value, batch: Shape) -> Value:
    """Return a parameter as it is for a batch."""
    parameter = as_tensor(value)
    parts = parted(parameter.shape, events(owner, key))
    return UNKNOWN if parts is None else Tensor(_joined(batch, parts[1]), parameter.dtype)


@rule("scored")
def scored(call: Call, self: Mapping[str, Value], value: Value, **rest: Value) -> Value:
    """Return the log-probability of values: a number for each event."""
    found, given = form(call, self), as_tensor(value)
    whole = Tensor(_joined(found.batch, found.event))
    shape = call.broadcast((whole, given), f"can't score {given} by a distribution of {whole}")
    parts = None if found.event.rank is None else parted(shape, found.event.rank)
    return Tensor(Shape.unknown() if parts is None else parts[0], found.kind)


@rule("statistic")
def statistic(call: Call, self: Mapping[str, Value], **rest: Value) -> Value:
    """Return a statistic of each element of the batch; of its event, or the parameters' axis."""
    found = form(call, self)
    last = {"event": found.event, "parameter": found.axis}.get(call.word(), Shape(()))
    return Tensor(_joined(found.batch, last), found.kind)


@rule("extent")
def extent(call: Call, self: Mapping[str, Value], **rest: Value) -> Value:
    """Return the batch shape or the event shape itself."""
    found = form(call, self)
    return Sizes((found.batch if call.extra[0] == "batch" else found.event).dims)


@rule("divergence")
def divergence(call: Call, p: Value, q: Value, **rest: Value) -> Value:
    """Return the divergence of two distributions: a number for each element of their batches."""
    one, other = form(call, p), form(call, q)
    headline = f"can't compare distributions of {one.batch} and {other.batch}"
    batch = call.broadcast((Tensor(one.batch), Tensor(other.batch)), headline)
    return Tensor(batch, one.kind)
