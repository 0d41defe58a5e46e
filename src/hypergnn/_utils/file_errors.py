"""The error for a file that cannot be used: which file, and why."""

from __future__ import annotations

import os


class FileError(ValueError):
    """A file cannot be used.

    Attributes:
        path: The file or the folder, or words for it.
        reason: What is wrong with it; it completes the sentence that begins with the path.

    Example:
        >>> error = FileError("run.json", "must describe a run; it is corrupt.")
        >>> print(error)
        run.json must describe a run; it is corrupt.
        >>> error.reason
        'must describe a run; it is corrupt.'
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        """Both are arguments of the error, so that it can be sent to another process."""
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        """One sentence with everything."""
        return f"{self.path} {self.reason}"


def reason_of(error: Exception) -> str:
    """What is wrong, without the file if the error names it apart, and without a full stop.

    Example:
        >>> reason_of(FileError("run.json", "is damaged.")), reason_of(ValueError("run.json is damaged."))
        ('is damaged', 'run.json is damaged')
    """
    return (error.reason if isinstance(error, FileError) else str(error)).rstrip(".")
