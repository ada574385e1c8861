"""Thread-safe caches of computed values."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Once(Generic[K]):
    """A cache of the last `most` values by name, each computed once.

    While one thread computes a value, those that ask for the same one wait for it and others do
    not. What computes a value may ask for other ones, as long as none asks for itself.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[K, Any] = OrderedDict()
        self._computing: dict[K, threading.Lock] = {}

    def get(self, name: K, compute: Callable[[], T]) -> T:
        """Return the cached value, or compute it; an exception is raised and not cached."""
        with self._lock:
            if name in self._values:
                self._values.move_to_end(name)
                value: T = self._values[name]
                return value
            own = self._computing.setdefault(name, threading.Lock())
        with own:
            with self._lock:
                if name in self._values:  # another thread was first
                    stored: T = self._values[name]
                    return stored
            try:
                value = compute()
            except BaseException:
                with self._lock:
                    self._computing.pop(name, None)
                raise
            with self._lock:
                self._computing.pop(name, None)
                self._values[name] = value
                if len(self._values) > self._most:
                    self._values.popitem(last=False)
            return value

    def get_all(
        self, names: Iterable[K], compute: Callable[[Sequence[K]], Iterable[T]]
    ) -> dict[K, T]:
        """Return values by name; `compute` gets all missing names at once.

        Threads that ask for the same ones at the same time may each compute them.
        """
        values: dict[K, T] = {}
        new = []
        with self._lock:
            for name in dict.fromkeys(names):
                if name in self._values:
                    self._values.move_to_end(name)
                    values[name] = self._values[name]
                else:
                    new.append(name)
        if new:
            made = dict(zip(new, compute(new), strict=True))
            self.keep(made)
            values |= made
        return values

    def keep(self, values: Mapping[K, Any]) -> None:
        """Add values that were computed elsewhere."""
        with self._lock:
            self._values |= values
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def names(self) -> list[K]:
        """Return the names of the cached values, most recently used last."""
        with self._lock:
            return list(self._values)


def reading(source: Mapping[K, T], names: Iterable[K]) -> dict[K, Callable[[], T]]:
    """Return a function per name that reads its value of a mapping, for `Lazily`."""
    return {name: partial(source.__getitem__, name) for name in names}


class Lazily(Mapping[K, T]):
    """A mapping that computes its values on first access."""

    def __init__(self, makers: Mapping[K, Callable[[], T]]) -> None:
        self._makers = makers
        self._made: dict[K, T] = {}

    def __getitem__(self, name: K) -> T:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[K]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
