from datetime import date

from hypergnn._utils.times import read_times


def test_odd_values_are_no_times():
    assert read_times([]) is None
    assert read_times([float("nan")]) is None
    assert read_times(["2024-13-41"]) is None
    assert read_times([10**400]) is None
    assert read_times([date(2024, 1, 1), 3]) is None
