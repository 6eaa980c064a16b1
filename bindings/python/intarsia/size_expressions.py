"""Values of the expressions that describe open sizes, such as "past+1" (Argument.sizes)."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {"floor_div": operator.floordiv, "max": max, "min": min}


def evaluate_size(expression: str, sizes: Mapping[str, int]) -> int | None:
    """Returns what an expression is with these sizes by name; None if it uses others, or is not understood."""
    try:
        return _evaluate(ast.parse(expression, mode="eval").body, sizes)
    except (KeyError, SyntaxError, TypeError, ValueError, ZeroDivisionError):
        return None


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(int(number)):
            return number
        case ast.Name(name):
            return sizes[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -_evaluate(operand, sizes)
        case ast.BinOp(left, operation, right):
            return _OPERATORS[type(operation)](_evaluate(left, sizes), _evaluate(right, sizes))
        case ast.Call(ast.Name(name), [left, right]):
            return _FUNCTIONS[name](_evaluate(left, sizes), _evaluate(right, sizes))
    raise ValueError(ast.dump(node))
