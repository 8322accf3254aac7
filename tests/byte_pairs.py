"""Byte-pair tokenizers made by hand, and what stands for a model where only tokens count."""

from dataclasses import replace

import likely


class TokensOnly:
    """A model that has tokens and no law: laws of inputs need no more."""

    def __init__(self, tokenizer):
        names = [f"t{i}" for i in range(tokenizer.n_tokens)]
        info = likely.TableModel(names, dict, bos=None, name="toy").info
        self.info = replace(info, bos_id=tokenizer.bos_id, adds_bos=tokenizer.adds_bos)
        self.tokenizer = tokenizer

    def evaluate(self, work, sink):
        raise NotImplementedError


def byte_pair_model(characters, merges, *, digits_alone=False, space_first=False):
    """Return the byte-pair tokenizer of some merges, each written ``"a b"``, in their order.

    Args:
        characters: Its single tokens.
        merges: Pairs that become one token.
        digits_alone: Whether a digit never merges.
        space_first: Whether it puts a space before a text, as some do.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from likely.models.hf_tokenizer import HfTokenizer

    pairs = [tuple(one.split()) for one in merges]
    if space_first:
        pairs = [tuple(part.replace("_", "▁") for part in one) for one in pairs]
        characters = [*characters, "▁"]
    vocab = {one: i for i, one in enumerate([*characters, *(a + b for a, b in pairs)])}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=pairs))
    if digits_alone:
        backend.pre_tokenizer = pre_tokenizers.Split(Regex("[0-9]"), behavior="isolated")
    if space_first:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        backend.decoder = decoders.Metaspace()
    else:
        backend.decoder = decoders.Fuse()
    return TokensOnly(HfTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend)))
