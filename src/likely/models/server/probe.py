"""What a server can really do, found out by a few small requests at the start. Unit: nats."""

from dataclasses import dataclass, replace

from likely.core.model import Tokenizer
from likely.errors import CapabilityError, InputError
from likely.models.server.completions import Reading
from likely.models.server.dialect import Dialect, Facts
from likely.models.server.listing import Entry
from likely.models.server.prompts import Asker
from likely.models.server.transport import AnswerError, RefusedError

AGREEMENT = 0.25
"""Nats by which a server may contradict itself about a likely token; quantised ones do."""

_PROBE_TEMPERATURE = 0.5  # doubles every gap between two log-probs of one row
_DOUBLED = 1.4  # half way, on a log scale, between a gap that stays and one that doubles
_GAP = 0.3  # nats: between closer ones rounding shows, and no temperature
_CLEAR_GAP = 1.0  # nats: enough to be sure that nothing doubled
_STEPS = 3

_INSTEAD = (
    "use vLLM, SGLang or llama.cpp through their completions interface, or a local model "
    "(tiny-2l, smollm2, hf:, gguf:)"
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
    fault = asker.dialect.echo_fault(ids, asker.facts)
    if fault:
        return None, fault
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
    """Return ``raw``, or ``flat`` if it could not be seen; raise if temperature moves log-probs."""
    k = max(1, _listed(reading, reading.listing.k)) if reading.listing else 1
    warm = asker.ask(ids, own=own is not None, k=k, temperature=_PROBE_TEMPERATURE)
    listed = _in_both(reading, warm)
    for first, second in [*zip(own or (), warm.own or (), strict=True), *listed[:1]]:
        if first is not None and second is not None and abs(first - second) > 2 * AGREEMENT:
            raise _moved_by_temperature(first, second)
    if not listed:
        return "raw" if own is not None else "flat"
    (top, warm_top), (low, warm_low) = listed[0], listed[-1]
    if top - low < _GAP:
        return "flat"
    if warm_top - warm_low > _DOUBLED * (top - low):
        raise _moved_by_temperature(top, warm_top)
    return "raw" if top - low >= _CLEAR_GAP else "flat"


def _moved_by_temperature(first: float, second: float) -> CapabilityError:
    return CapabilityError(
        f"the server gives log-probs after temperature, not the model's own: {first:.4f} at T=1 "
        f"became {second:.4f} at T={_PROBE_TEMPERATURE}; start it with raw log-probs "
        "(vLLM: --logprobs-mode raw_logprobs)"
    )


def _in_both(reading: Reading, warm: Reading) -> list[tuple[float, float]]:
    """Return the values of tokens that both lists name, likeliest first."""
    if reading.listing is None or warm.listing is None:
        return []
    second = {_key(entry): entry.log_prob for entry in warm.listing.entries}
    return [
        (entry.log_prob, second[_key(entry)])
        for entry in reading.listing.entries
        if _key(entry) in second
    ]


def _key(entry: Entry) -> int | str:
    return entry.piece if entry.token is None else entry.token


def _misplacement(asker: Asker, ids: tuple[int, ...], reading: Reading) -> str:
    """Return why prompt log-probs cannot be trusted, or nothing.

    A likeliest next token is listed after a prompt, then sent as the prompt's last token: both
    times the server must give it the same log-prob. Rows that are off by one give that of the
    same token once more, which no language model finds as likely three times over.
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
