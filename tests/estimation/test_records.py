"""Records as text and arrays: each kind of value goes in and comes back as what it was."""

from dataclasses import dataclass

import numpy as np
import pytest

from vvcv.estimation.records import NotStored, pack, unpack


@dataclass
class Pair:
    first: object
    second_one: object


def there_and_back(value):
    arrays: dict = {}
    return unpack(pack(value, "x", arrays), arrays, {"Pair": Pair})


@pytest.mark.parametrize("value", [None, "a", True, 3, 0.1, (1, 2), [1, "b"], {"k": (1, [2])}, ()], ids=repr)
def test_plain_values_come_back_as_they_were(value):
    back = there_and_back(value)
    assert back == value and type(back) is type(value)


def test_numbers_of_numpy_are_plain_and_arrays_stay_binary():
    assert pack(np.float64(0.1), "x", {}) == 0.1 and pack(np.bool_(True), "x", {}) is True
    arrays: dict = {}
    assert pack({"k": np.arange(3)}, "x", arrays) == {"dict": [["k", {"array": "x.0"}]]}
    np.testing.assert_array_equal(arrays["x.0"], np.arange(3))


def test_arrays_of_text_and_of_truths_are_lists_that_become_arrays():
    for array in (np.array(["a", "b"]), np.array([True, False])):
        arrays: dict = {}
        assert pack(array, "x", arrays) == {"list": array.tolist(), "numpy": True} and not arrays
        back = there_and_back(array)
        assert isinstance(back, np.ndarray) and back.tolist() == array.tolist()


def test_a_record_is_built_from_the_fields_that_it_knows():
    back = there_and_back(Pair((1, np.ones(2)), None))
    assert isinstance(back, Pair) and back.first[0] == 1 and back.second_one is None
    packed = {"record": "Pair", "fields": {"first": 1, "second_one": 2, "of a later version": 3}}
    assert unpack(packed, {}, {"Pair": Pair}) == Pair(1, 2)


def test_what_cannot_be_stored_says_what_it_was():
    back = there_and_back(Pair(len, {1: 2}))
    assert isinstance(back.first, NotStored) and repr(back.second_one) == "<second one: not stored>"
    with pytest.raises(ValueError, match="The first of a loaded estimate cannot be called"):
        back.first()
