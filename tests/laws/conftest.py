"""One thread for models of two layers: more only wait for one another."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    try:
        import torch
    except ImportError:  # the table cases need no torch
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
