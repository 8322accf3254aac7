"""Small models are worked on by one thread, others as they were; what stood before comes back."""

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from likely import rare
from likely.rare import threads
from likely.rare.threads import few_threads


def threads_of_libraries():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {one["num_threads"] for one in threadpool_info()}


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_a_small_model_gets_one_thread_and_the_rest_of_the_program_its_own_back(gpt2):
    with few_threads(gpt2):
        assert torch.get_num_threads() == 1
        assert threads_of_libraries() == {1}
    assert torch.get_num_threads() == 2


def test_an_error_gives_the_threads_back_too(gpt2):
    with pytest.raises(ZeroDivisionError), few_threads(gpt2):
        raise ZeroDivisionError
    assert torch.get_num_threads() == 2


def test_a_wide_model_keeps_its_threads(gpt2, monkeypatch):
    monkeypatch.setattr(threads, "SMALL", 1)
    with few_threads(gpt2):
        assert torch.get_num_threads() == 2


def test_methods_run_with_few_threads(gpt2, monkeypatch):
    seen = []

    class Spy(rare.METHODS.load("naive")):
        def run(self, task):
            seen.append(torch.get_num_threads())
            return super().run(task)

    law = rare.independent([{1: 1.0, 2: 1.0}] * 2, gpt2)
    rare.estimate(gpt2, law, 3, method=Spy(), budget=4)
    assert seen == [1]
    assert torch.get_num_threads() == 2
