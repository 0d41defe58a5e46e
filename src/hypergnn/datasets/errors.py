"""What can go wrong with data: it cannot be had, or it is not what it should be."""


class DataError(ValueError):
    """A data file cannot be read: it is truncated, corrupt, or not the file that its name promises."""


class DataNotFoundError(DataError):
    """No source had the data; the message says what each of them answered and what can be done."""
