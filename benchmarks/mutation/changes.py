"""Small changes to a Python file: one comparison, sign, number, condition or operator at a time.

Left out is what no test of behaviour can see: annotations, decorators, docstrings, the text of errors, `__all__`, the
default of a seed, and constants at the top of a file, which are judgement and weighed by benchmarks. Where counts are
compared, the bound is moved by one; a measured number never meets its bound, so there the comparison is turned round.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip

TURNED: dict[type, type] = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt}

#: Arguments that ask for speed, for an order that is there already, or for an error that cannot come, and tolerances.
FLAGS = ("strict", "lower", "overwrite_a", "overwrite_b", "overwrite_c", "clean", "check_finite", "repr", "maxsize")
FLAGS += ("sort_keys", "rcond", "seed", "static")


class Change(NamedTuple):
    """The `index`-th change of a file, in the function `where`, and the statement before and after it."""

    path: str
    index: int
    where: str
    line: int
    before: str
    after: str


def places_of(source: str) -> list[str]:
    """The function, by its qualified name, of every change that a file allows."""
    return [site.where for site in _sites(ast.parse(source))]


def described(path: str, source: str, index: int) -> Change:
    """The `index`-th change of a file in words."""
    site = _site(ast.parse(source), index)
    before = _text(site.statement)
    site.apply()
    return Change(path, index, site.where, site.line, before, _text(site.statement))


def changed(source: str, index: int) -> ast.Module:
    """The tree of a file after its `index`-th change."""
    tree = ast.parse(source)
    _site(tree, index).apply()
    return ast.fix_missing_locations(tree)


class _Site(NamedTuple):
    where: str
    line: int
    statement: ast.stmt
    apply: Callable[[], None]


def _site(tree: ast.Module, index: int) -> _Site:
    return next(site for i, site in enumerate(_sites(tree)) if i == index)


def _sites(tree: ast.Module) -> Iterator[_Site]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from _in_scope(node, node.name)


def _in_scope(scope: ast.FunctionDef | ast.ClassDef, name: str) -> Iterator[_Site]:
    """Changes of the body and the defaults of a function or class, those of scopes inside it under their own names."""
    if isinstance(scope, ast.FunctionDef):
        given = [*scope.args.posonlyargs, *scope.args.args][-len(scope.args.defaults) or None :]
        for argument, default in [
            *zip(given, scope.args.defaults, strict=False),
            *zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True),
        ]:
            if argument.arg not in FLAGS:
                yield from _in_expression(default, scope.args, name, scope)
    for statement in scope.body:
        yield from _in_statement(statement, name, isinstance(scope, ast.FunctionDef))


def _in_statement(statement: ast.stmt, name: str, inside: bool) -> Iterator[_Site]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield from _in_scope(statement, f"{name}{'.<locals>' if inside else ''}.{statement.name}")
        return
    if isinstance(statement, ast.Raise | ast.Import | ast.ImportFrom | ast.Assert):
        return
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    for field, value in ast.iter_fields(statement):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.stmt):
                yield from _in_statement(child, name, inside)
            elif isinstance(child, ast.ExceptHandler):
                for part in child.body:
                    yield from _in_statement(part, name, inside)
            elif isinstance(child, ast.AST) and field != "annotation":
                yield from _in_expression(child, statement, name, statement)
    if isinstance(statement, ast.If | ast.While) and not _has_its_own(statement.test):
        yield _Site(name, statement.lineno, statement, lambda: _negate(statement))
    if isinstance(statement, ast.AugAssign) and type(statement.op) in OPERATORS:
        yield _Site(
            name, statement.lineno, statement, lambda: setattr(statement, "op", OPERATORS[type(statement.op)]())
        )


def _in_expression(node: ast.AST | None, parent: ast.AST, name: str, statement: ast.stmt) -> Iterator[_Site]:
    if node is None or isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.keyword) and node.arg in FLAGS:
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("require", "isinstance"):
        yield from _in_expression(node.args[0], node, name, statement)  # the other is the text of an error, or types
        return
    for apply in _changes_of_node(node, parent):
        yield _Site(name, getattr(node, "lineno", statement.lineno), statement, apply)
    for child in ast.iter_child_nodes(node):
        yield from _in_expression(child, node, name, statement)


def _changes_of_node(node: ast.AST, parent: ast.AST) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
        yield lambda: setattr(node, "op", OPERATORS[type(node.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        others = OPERATORS if _counts(node) else OPERATORS | TURNED
        yield lambda: node.ops.__setitem__(0, others[type(node.ops[0])]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield lambda: _replace(parent, node, node.operand)
    if isinstance(node, ast.IfExp) and not _has_its_own(node.test):
        yield lambda: _negate(node)
    if isinstance(node, ast.Constant) and not isinstance(node.value, str | bytes | None.__class__ | type(...)):
        yield lambda: setattr(node, "value", _other(node.value))


def _other(value: bool | int | float) -> bool | int | float:
    if isinstance(value, bool):
        return not value
    return value + 1 if value == int(value) else 2 * value


def _counts(comparison: ast.Compare) -> bool:
    """Whether whole numbers are compared: a literal, a length or a shape."""
    for part in ast.walk(comparison):
        if isinstance(part, ast.Constant) and type(part.value) is int:
            return True
        if isinstance(part, ast.Attribute) and part.attr in ("size", "ndim", "shape", "count"):
            return True
        if isinstance(part, ast.Name) and part.id in ("len", "count", "rows", "n"):
            return True
    return False


def _has_its_own(test: ast.expr) -> bool:
    """Whether a condition is turned into its opposite by a change of its operator already."""
    if not isinstance(test, ast.Compare):
        return isinstance(test, ast.UnaryOp)
    opposite = ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn
    return isinstance(test.ops[0], opposite) or not _counts(test)


def _negate(node: ast.If | ast.While | ast.IfExp) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for field, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, field, new)
        elif isinstance(value, list):
            setattr(parent, field, [new if item is old else item for item in value])


def _text(statement: ast.stmt) -> str:
    """The first line of a statement, which for a block is its head."""
    return ast.unparse(ast.fix_missing_locations(statement)).split("\n")[0]
