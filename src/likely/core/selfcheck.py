"""How far one model's numbers move where they must not: `self_check`. Unit: nats a token.

Batch size, order, cached prefixes and splits of a text change no probability. What they change is
rounding: nothing worth a thought in float32, and in 16 bit the noise that this check measures.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.engine import ROW_TOLERANCE, Continuation, Reduction, Row, evaluate
from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.logspace import logsumexp
from likely.core.model import Capability, LanguageModel, Settings, TopTokens, Work, require
from likely.core.streams import generator
from likely.core.text.encode import with_bos
from likely.core.trie import build_trie
from likely.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

LIMITS = {"float64": 1e-9, "float32": 1e-4, "float16": 0.05, "bfloat16": 0.25}
"""Largest difference that passes, nats a token, by dtype of the weights."""

TEXTS = (
    "The sky is",
    "The sky is blue, and the sea under it is green.",
    "The capital of France is Paris; the capital of Italy is Rome. 1 + 1 = 2.",
    "Hello",
)
"""What is read if no texts are given and the tokenizer can read these."""

_SPLITS = 8  # places at which each text is cut: more cost calls and find the same faults
