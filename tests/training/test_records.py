import pytest

from hypergnn.training import TrialRecord

VALID = {"seed": 0, "epochs": 3, "best_epoch": 2, "seconds": 0.5, "test_accuracy": 80.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_accuracy": "80"}, "test_accuracy must be a finite number; got '80'"),
        ({"seconds": True}, "seconds must be a finite number; got True"),
        ({"val_loss": float("nan")}, "val_loss must be a finite number; got nan"),
        ({"epochs": [3]}, r"epochs must be a finite number; got \[3\]"),
        ({"epochs": 2.5}, r"epochs must be a whole number of at least 0; got 2\.5"),
        ({"best_epoch": -1}, "best_epoch must be a whole number of at least 0; got -1"),
        ({"seed": None}, "that of seed None lacks seed"),
    ],
)
def test_a_field_of_a_record_must_be_a_number(change, message):
    with pytest.raises(ValueError, match=message):
        TrialRecord.from_json(VALID | change)


def test_whole_numbers_are_measurements_and_unknown_keys_are_ignored():
    record = TrialRecord.from_json(VALID | {"seconds": 2, "colour": "red", "val_loss": None})
    assert (record.seconds, record.val_loss) == (2, None)
