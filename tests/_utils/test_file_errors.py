"""Errors that name a file apart from what is wrong with it."""

import pickle

import pytest

from hypergnn._utils.file_errors import FileError, reason_of


def test_a_file_error_is_a_value_error_with_path_and_reason(tmp_path):
    with pytest.raises(ValueError, match=r"run\.json is damaged\.$") as caught:
        raise FileError(tmp_path / "run.json", "is damaged.")
    sent = pickle.loads(pickle.dumps(caught.value))
    assert (sent.path, sent.reason, str(sent)) == (tmp_path / "run.json", "is damaged.", str(caught.value))
    assert reason_of(sent) == "is damaged"


def test_other_messages_are_not_cut(tmp_path):
    assert reason_of(ValueError(f"{tmp_path} is damaged.")) == f"{tmp_path} is damaged"
