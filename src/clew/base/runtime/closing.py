"""Close a resource at the end of a `with` block."""

from abc import abstractmethod
from typing import Self


class Closing:
    """A context manager that closes itself."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
