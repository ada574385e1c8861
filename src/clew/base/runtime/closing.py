"""What a `with` block closes at its end."""

from abc import abstractmethod
from typing import Self


class Closing:
    """Something that is closed when the `with` block ends that it was opened for."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
