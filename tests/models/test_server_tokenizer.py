"""Pieces over the wire spell the text, with spans that name no byte that is not known."""

import pytest

from likely.errors import CapabilityError
from likely.models.server.tokenizer import ServerTokenizer

SMILE = "🙂".encode()
VOCABULARY = [b"a", b"b", b" a", b" ", b"\xc3\xa9", SMILE[:2], SMILE[2:], b"<s>", b"\xff"]


class Bytes:
    """A dialect over a fixed list of byte strings."""

    def __init__(self, *, tells_bytes=False, drops_first_space=False, broken="\ufffd"):
        self.tells_bytes = tells_bytes
        self.drops_first_space = drops_first_space
        self.broken = broken
        self.name = "bytes"
        self.tops = (1,)
        self.takes_ids = True
        self.draws = 1
        self.has_tokenizer = True
        self.n_asked = 0

    def spell(self, text, *, special):
        raw, spelled = text.encode(), []
        while raw:
            match = max((v for v in VOCABULARY if raw.startswith(v)), key=len)
            spelled.append((VOCABULARY.index(match), match if self.tells_bytes else None))
            raw = raw[len(match) :]
        return tuple(spelled)

    def text_of(self, ids):
        self.n_asked += 1
        raw = b"".join(b"" if VOCABULARY[i] == b"<s>" else VOCABULARY[i] for i in ids)
        text = raw.decode("utf-8", "replace")
        if "\ufffd" in text and self.broken is None:
            return None
        return text.removeprefix(" ") if self.drops_first_space else text

    def facts(self, sample):
        raise NotImplementedError

    def echo_fault(self, ids, facts):
        raise NotImplementedError

    def draw(self, draw, *, facts):
        raise NotImplementedError

    def ask(self, question, *, facts):
        raise NotImplementedError


@pytest.mark.parametrize("broken", ["\ufffd", None])
def test_tokens_that_together_spell_a_character_share_its_span(broken):
    tokenizer = ServerTokenizer(Bytes(broken=broken), anchor=0)
    encoding = tokenizer.encode("bé🙂 a")
    assert encoding.tokens == (1, 4, 5, 6, 2)
    assert encoding.byte_spans == ((0, 1), (1, 3), (3, 7), (3, 7), (7, 9))
    assert tokenizer.decode(encoding.tokens) in ("bé🙂 a", "bé\ufffd\ufffd a")
    assert tokenizer.decode([5]).strip("\ufffd") == ""
    with pytest.raises(CapabilityError, match="bytes of token 5; pass tokenizer="):
        tokenizer.token_bytes(5)


def test_bytes_that_the_server_tells_give_exact_spans():
    tokenizer = ServerTokenizer(Bytes(tells_bytes=True), anchor=0)
    encoding = tokenizer.encode("bé🙂 a")
    assert encoding.byte_spans == ((0, 1), (1, 3), (3, 5), (5, 7), (7, 9))
    assert tokenizer.token_bytes(5) == SMILE[:2]
    assert tokenizer.decode(encoding.tokens) == "bé🙂 a"
    assert tokenizer.decode([5]) == "\ufffd"


def test_a_space_that_a_text_s_start_would_lose_is_kept():
    tokenizer = ServerTokenizer(Bytes(drops_first_space=True), anchor=0)
    assert tokenizer.encode(" a b").byte_spans == ((0, 2), (2, 3), (3, 4))
    assert tokenizer.decode([2]) == " a"
    assert tokenizer.token_bytes(2) == b" a"


def test_a_token_whose_text_is_hidden_is_refused_not_guessed():
    tokenizer = ServerTokenizer(Bytes(), anchor=0)
    with pytest.raises(CapabilityError, match=r"spell b'a', not the text b'<s>a'.*tokenizer="):
        tokenizer.encode("<s>a")


def test_an_anchor_without_a_text_is_refused():
    with pytest.raises(CapabilityError, match="no text for its token 8"):
        ServerTokenizer(Bytes(), anchor=8)


def test_a_known_piece_is_not_asked_for_again():
    dialect = Bytes()
    tokenizer = ServerTokenizer(dialect, anchor=0)
    tokenizer.encode("ab ab")
    asked = dialect.n_asked
    tokenizer.encode("ab ab")
    tokenizer.decode([0, 1, 2])
    assert dialect.n_asked == asked


def test_a_chat_template_is_not_to_be_had():
    tokenizer = ServerTokenizer(Bytes(), anchor=0)
    with pytest.raises(CapabilityError, match="tokenizer="):
        tokenizer.render_chat([{"role": "user", "content": "a"}], open_reply=True)
