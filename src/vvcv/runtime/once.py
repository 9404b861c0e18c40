"""Attributes that are worked out when first asked for, and kept: `functools.cached_property` without its lock.

Before Python 3.12 that lock is one for all instances of a class: threads that each invert a matrix of their own would
wait for each other. Here two threads that ask for the same attribute of the same object may both work it out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:  # noqa: N801
        """A method whose result takes the method's place in the instance.

        >>> class Circle:
        ...     @cached_property
        ...     def area(self):
        ...         print("once")
        ...         return 3.14
        >>> circle = Circle()
        >>> circle.area, circle.area
        once
        (3.14, 3.14)
        """

        def __init__(self, method: Callable[[Any], Any]) -> None:
            self._method, self.__doc__ = method, method.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._method(instance)
            return value


__all__ = ["cached_property"]
