"""What a server can really do, found out by a few small requests at the start. Unit: nats."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from likely.core.model import Tokenizer
from likely.errors import CapabilityError, InputError
from likely.models.server.completions import Reading
from likely.models.server.dialect import Dialect, Facts
from likely.models.server.listing import Entry
from likely.models.server.prompts import Asker
from likely.models.server.transport import AnswerError, RefusedError

AGREEMENT = 0.1  # nats: what two kernels of a 16-bit server may differ by, and no wrong row does
_PROBE_TEMPERATURE = 0.5
_SPREAD = 0.3  # nats: below it a list is too flat to show a temperature
_STEPS = 2

_INSTEAD = (
    "use vLLM, SGLang or llama.cpp through their completions interface, or a local model "
    "(hf:, gguf:, smollm2)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The result of a probe.

    Attributes:
        asker: Asks in the form of prompt that the server takes.
        top_k: How many likeliest tokens it lists; 0 for none.
        no_own: Why its prompt log-probs are not used; empty if they are.
        temperature: ``raw``, or ``flat`` where the probe's list was too flat to tell.
        values: Log-probs of the probe, to tell one model from another.
    """

    asker: Asker
    top_k: int
    no_own: str
    temperature: str
    values: tuple[float, ...]


def probe(
    dialect: Dialect, tokenizer: Tokenizer, facts: Facts, *, text: str, top_k: int | None
) -> Findings:
    """Return what the server can do.

    Args:
        dialect: The server.
        tokenizer: Its tokenizer.
        facts: What it tells about itself.
        text: A short text of at least two tokens.
        top_k: How many likeliest tokens to ask for, or None for the dialect's own choice.

    Raises:
        CapabilityError: It gives neither prompt log-probs nor lists, or gives them only after
            temperature.
        InputError: The text is too short.
        ServerError: It does not answer.
    """
    ids = tokenizer.encode(text).tokens
    if len(ids) < 2:
        raise InputError(f"the probe needs a text of 2 tokens or more, got {text!r}; set probe=")
    if facts.adds_bos and facts.bos_id is not None:
        ids = (facts.bos_id, *ids)
    asker = Asker(dialect=dialect, tokenizer=tokenizer, facts=facts, by_text=not dialect.takes_ids)
    asker, reading, asked = _first_list(asker, ids, dialect.tops if top_k is None else (top_k,))
    own, no_own = _own_values(asker, ids)
    if reading.listing is None and own is None:
        raise CapabilityError(
            f"the server gives neither prompt log-probs ({no_own}) nor lists of likeliest "
            f"tokens, so it cannot score; {_INSTEAD}"
        )
    temperature = _check_temperature(asker, ids, reading, own)
    if own is not None:
        no_own = _misplacement(asker, ids, reading)
    entries = reading.listing.entries if reading.listing else ()
    values = [value for value in own or () if value is not None]
    return Findings(
        asker=asker,
        top_k=_listed(reading, asked),
        no_own=no_own,
        temperature=temperature,
        values=(*values, *(e.log_prob for e in entries[:5])),
    )


def _first_list(
    asker: Asker, ids: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Asker, Reading, int]:
    """Return the first list that the server gives, and the form of prompt that it took."""
    askers = [asker] if asker.by_text else [asker, replace(asker, by_text=True)]
    refusal: RefusedError | None = None
    for form in askers:
        for k in sizes:
            try:
                return form, form.ask(ids, own=False, k=k), k
            except RefusedError as error:
                if error.status in (404, 405, 501):
                    raise CapabilityError(
                        f"no completions endpoint ({error}): a chat endpoint gives neither prompt "
                        f"log-probs nor next tokens after a given text; {_INSTEAD}"
                    ) from error
                if error.status in (401, 403):
                    raise
                refusal = error
    raise CapabilityError(f"the server refuses to list likeliest tokens: {refusal}") from refusal


def _listed(reading: Reading, asked: int) -> int:
    """Return how many tokens the server lists at most when ``asked`` are asked for."""
    listing = reading.listing
    if listing is None:
        return 0
    is_by_id = all(e.token is not None for e in listing.entries)
    if not is_by_id or len(listing.entries) >= asked or listing.log_mass_elsewhere < -10.0:
        return asked
    return max(1, len(listing.entries) - 1)  # a cap; one of them may be the sampled token


def _own_values(asker: Asker, ids: tuple[int, ...]) -> tuple[tuple[float | None, ...] | None, str]:
    if not asker.dialect.echoes(ids, asker.facts.bos_id):
        return None, f"{asker.dialect.name} gives none for this model"
    try:
        return asker.ask(ids, own=True, k=1).own, ""
    except (AnswerError, RefusedError) as error:
        return None, str(error)


def _check_temperature(
    asker: Asker,
    ids: tuple[int, ...],
    reading: Reading,
    own: tuple[float | None, ...] | None,
) -> str:
    """Return ``raw`` or ``flat``; raise if log-probs move with the temperature."""
    k = max(1, _listed(reading, reading.listing.k)) if reading.listing else 1
    warm = asker.ask(ids, own=own is not None, k=k, temperature=_PROBE_TEMPERATURE)
    pairs = list(zip(own or (), warm.own or (), strict=True))
    if reading.listing is not None and warm.listing is not None:
        second = _by_key(warm.listing.entries)
        pairs += [(v, second.get(key)) for key, v in _by_key(reading.listing.entries).items()]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    worst = max(both, key=lambda pair: abs(pair[0] - pair[1]), default=(0.0, 0.0))
    if abs(worst[0] - worst[1]) > AGREEMENT:
        raise CapabilityError(
            f"the server gives log-probs after temperature, not the model's own: {worst[0]:.4f} "
            f"at T=1 became {worst[1]:.4f} at T={_PROBE_TEMPERATURE}; start it with raw log-probs "
            "(vLLM: --logprobs-mode raw_logprobs)"
        )
    firsts = [a for a, _ in both]
    return "raw" if firsts and max(firsts) - min(firsts) >= _SPREAD else "flat"


def _by_key(entries: tuple[Entry, ...]) -> Mapping[int | str, float]:
    return {e.piece if e.token is None else e.token: e.log_prob for e in entries}


def _misplacement(asker: Asker, ids: tuple[int, ...], reading: Reading) -> str:
    """Return why prompt log-probs cannot be trusted, or nothing.

    A likeliest next token is listed after a prompt, then sent as the prompt's last token: both
    times the server must give it the same log-prob. A list of rows that is off by one does not.
    """
    for _ in range(_STEPS):
        step = _likeliest(asker, reading)
        if step is None:
            return ""
        token, listed = step
        ids = (*ids, token)
        try:
            reading = asker.ask(ids, own=True, k=1)
        except (AnswerError, RefusedError) as error:
            return str(error)
        last = reading.own[-1] if reading.own else None
        if last is None or abs(last - listed) > AGREEMENT:
            return f"its prompt log-prob of token {token} is {last!r}, its list says {listed!r}"
    return ""


def _likeliest(asker: Asker, reading: Reading) -> tuple[int, float] | None:
    """Return id and log-prob of the likeliest listed token that a prompt can go on with."""
    for entry in reading.listing.entries if reading.listing else ():
        if entry.token is not None:
            return entry.token, entry.log_prob
        tokens = asker.tokenizer.encode(entry.piece).tokens if entry.piece.strip() else ()
        if len(tokens) == 1 and asker.tokenizer.decode(tokens) == entry.piece:
            return tokens[0], entry.log_prob
    return None
