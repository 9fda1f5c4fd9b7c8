"""TensorLists while a graph is unrolled: the stacks in which loops keep what the backward pass needs.

A list holds its elements' buffers, not copies. Taking an element off gives the element's own buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner_app.core.model.trace import Size

MOST_NAMED = 64  # elements that one version of a list holds by itself: each version of a long one would name all

if TYPE_CHECKING:
    from planner_app.worker.graph.nodes import Node
    from planner_app.worker.graph.unroll import Token, Unroller


class TensorList:
    """One version of a list. A push makes a new version that holds the old one and the element."""

    __slots__ = ("element", "items", "length", "parent")

    def __init__(self, length: int, parent: Token | None = None, element: Token | None = None) -> None:
        self.length, self.parent, self.element = length, parent, element
        self.items: dict[int, Token] = {}


def _list_of(unroller: Unroller, node: Node, token: Token) -> TensorList:
    """Other things travel as variants too: nothing is known of their sizes."""
    if token.list is None:
        raise unroller.unknown(node)
    return token.list


def _known_shape(unroller: Unroller, node: Node, port: int, candidate: Any) -> tuple[int, ...]:
    shape = node.shapes[port]
    if shape is not None:
        return shape
    if candidate is not None and candidate.constant is not None:
        dims = tuple(int(d) for d in candidate.constant.reshape(-1))
        if candidate.constant.ndim == 1 and all(d >= 0 for d in dims):
            return dims
    raise unroller.unknown(node)


def _list_token(unroller: Unroller, node: Node, tensor_list: TensorList, holds: tuple[int, ...] = ()) -> Token:
    value = unroller.value(size=unroller.size_index(Size()), holds=holds)
    return unroller.token(value, (), node.dtypes[0], list=tensor_list)


def _empty(unroller: Unroller, node: Node, _inputs: list[Token]) -> list[Token]:
    return [_list_token(unroller, node, TensorList(0))]


def _reserve(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    count = inputs[1].constant
    return [_list_token(unroller, node, TensorList(0 if count is None else int(count)))]


def _push(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    old, element = inputs
    new = TensorList(_list_of(unroller, node, old).length + 1, old, element)
    return [_list_token(unroller, node, new, holds=(old.value, element.value))]


def _pop(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    top = _list_of(unroller, node, inputs[0])
    if top.parent is None or top.element is None:
        raise unroller.unknown(node)
    element = top.element
    return [
        unroller.token(unroller.alias(top.parent.value), (), node.dtypes[0], list=top.parent.list),
        unroller.token(unroller.alias(element.value), element.shape, element.dtype, element.constant),
    ]


def _set_item(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    old, index, element = inputs
    before = _list_of(unroller, node, old)
    new = TensorList(before.length)
    new.items = dict(before.items)  # another reader may still have the old version
    if index.constant is None:
        raise unroller.unknown(node)
    place = int(index.constant)
    new.items[place] = element
    new.length = max(new.length, place + 1)
    holds: tuple[int, ...] = (old.value, element.value)
    if place in before.items and len(new.items) <= MOST_NAMED:
        # What stood there goes (list_kernels.h, TensorListSetItem), as a loop's last output does with every turn.
        holds = tuple(token.value for token in new.items.values())
    return [_list_token(unroller, node, new, holds=holds)]


def _get_item(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    source, index = _list_of(unroller, node, inputs[0]), inputs[1].constant
    element = source.items.get(int(index)) if index is not None else next(iter(source.items.values()), None)
    if element is None:  # never written: the kernel makes zeros
        shape = _known_shape(unroller, node, 0, inputs[2] if len(inputs) > 2 else None)
        return [unroller.fresh(shape, node.dtypes[0])]
    return [unroller.token(unroller.alias(element.value), element.shape, element.dtype, element.constant)]


def _from_tensor(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    whole = inputs[0]
    shape = whole.shape[1:]
    new = TensorList(whole.shape[0])
    holds = []
    for place in range(whole.shape[0]):
        # list_kernels.h copies every slice ("maybe not always align; but weird compiler bugs seem to prevent this").
        size = unroller.size(shape, whole.dtype)
        element = unroller.token(unroller.value(size=size, scratch=True), shape, whole.dtype)
        new.items[place] = element
        holds.append(element.value)
    return [_list_token(unroller, node, new, holds=tuple(holds)), *(new.items[i] for i in range(len(holds)))]


def _stack(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    source = _list_of(unroller, node, inputs[0])
    element = _any_element(source)
    if node.shapes[0] is not None:
        shape = node.shapes[0]
    elif element is not None:
        shape = (source.length, *element.shape)
    else:
        shape = (source.length, *_known_shape(unroller, node, 0, inputs[1]))
    return [unroller.fresh(shape, node.dtypes[0])]


def _any_element(source: TensorList) -> Token | None:
    return source.element or next(iter(source.items.values()), None)


def _length(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    return [unroller.known(_list_of(unroller, node, inputs[0]).length, node.dtypes[0])]


def _element_shape(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    element = _any_element(_list_of(unroller, node, inputs[0]))
    return [unroller.known(list(element.shape) if element else -1, node.dtypes[0])]


def _items(tensor_list: TensorList) -> dict[int, Token]:
    """What is in a list, by place: written by number, or pushed one after the other."""
    items = dict(tensor_list.items)
    version: TensorList | None = tensor_list
    while version is not None and version.element is not None:
        items[version.length - 1] = version.element
        version = version.parent.list if version.parent else None
    return items


def _zeros_like(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    """tensor_list_util.h: zeros for each element that has a value."""
    source = _list_of(unroller, node, inputs[0])
    new = TensorList(source.length)
    for place, element in _items(source).items():
        size = unroller.size(element.shape, element.dtype)
        new.items[place] = unroller.token(unroller.value(size=size, scratch=True), element.shape, element.dtype)
    made = list(new.items.values())
    return [_list_token(unroller, node, new, holds=tuple(token.value for token in made)), *made]


def _add_lists(unroller: Unroller, node: Node, inputs: list[Token]) -> list[Token]:
    """Where both lists have an element a new one is made; where one has, its buffer goes on."""
    first, *others = [_list_of(unroller, node, token) for token in inputs]
    total = TensorList(max(each.length for each in (first, *others)))
    total.items = _items(first)
    made: dict[int, Token] = {}
    for other in others:
        for place, element in _items(other).items():
            if place in total.items and place not in made:
                size = unroller.size(element.shape, element.dtype)
                made[place] = unroller.token(unroller.value(size=size, scratch=True), element.shape, element.dtype)
            total.items[place] = made.get(place, element)
    holds = tuple(token.value for token in total.items.values())
    return [_list_token(unroller, node, total, holds=holds), *made.values()]


LIST_KERNELS = {
    "EmptyTensorList": _empty,
    "TensorListReserve": _reserve,
    "TensorListPushBack": _push,
    "TensorListPopBack": _pop,
    "TensorListSetItem": _set_item,
    "TensorListGetItem": _get_item,
    "TensorListFromTensor": _from_tensor,
    "TensorListStack": _stack,
    "TensorListLength": _length,
    "TensorListElementShape": _element_shape,
    "ZerosLike": _zeros_like,
    "AddN": _add_lists,
}
