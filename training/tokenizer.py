"""Train the tokenizer of the tiny models: byte-level BPE on the three corpora, 4,096 entries.

Run ``python training/tokenizer.py``. A text is split before the merges are learnt: a word with
the space before it, each digit alone, punctuation, and runs of white space (so that the indent of
a line of code can be one token).
"""

import json

from documents import CORPORA, is_held_out, load_documents
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from likely.models.tiny import NAMES, folder

BEGIN, END = "<|begin|>", "<|end|>"
N_ENTRIES = 4096
MAX_TOKENS = 512
_CHARACTERS = 7_000_000  # of each corpus, so that none of them rules the merges
# A contraction; letters with a leading space; one digit; punctuation with a leading space; white
# space up to the last space before a word.
_PIECES = r"'(?:[sdmt]|ll|ve|re)(?!\p{L})| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def main() -> None:
    """Train on documents that are not held out; write the files into the models' folders."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=N_ENTRIES,
        special_tokens=[BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [text for name in CORPORA for text in _spread(load_documents(name))]
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A",
        pair=f"{BEGIN} $A {BEGIN} $B",
        special_tokens=[(BEGIN, tokenizer.token_to_id(BEGIN))],
    )
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BEGIN,
        "eos_token": END,
        "model_max_length": MAX_TOKENS,
        "clean_up_tokenization_spaces": False,
        "add_prefix_space": False,
    }
    for name in NAMES:
        folder(name).mkdir(exist_ok=True)
        tokenizer.save(str(folder(name) / "tokenizer.json"))
        text = json.dumps(settings, indent=1) + "\n"
        (folder(name) / "tokenizer_config.json").write_text(text)


def _spread(documents: tuple[str, ...]) -> list[str]:
    """Return documents spread over the corpus, up to the characters that are learnt from."""
    seen = [document for document in documents if not is_held_out(document)]
    step = max(1.0, sum(map(len, seen)) / _CHARACTERS)
    return [seen[int(i * step)] for i in range(int(len(seen) / step))]


if __name__ == "__main__":
    main()
