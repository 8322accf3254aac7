"""Models behind an OpenAI-compatible server: prompt log-probs, or bounds from lists. Unit: nats."""

import hashlib
import json
import os
from importlib import import_module
from typing import Annotated, Protocol, cast, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from likely.core.model import Capability, ModelInfo, Tokenizer
from likely.errors import CapabilityError, InputError
from likely.models.server.detect import make_dialect
from likely.models.server.dialect import Address, Dialect, Facts, parse_address
from likely.models.server.model import ServerModel
from likely.models.server.probe import Findings, probe
from likely.models.server.tokenizer import ServerTokenizer
from likely.models.server.transport import Transport

ANY_VOCABULARY = 1 << 20
"""``n_vocab`` of a server that does not tell its own: ids are checked by the server instead."""


class Options(BaseModel):
    """What `likely.load("server:...")` takes beside the address.

    Attributes:
        api_key: Sent as a bearer token; by default that of the environment, LIKELY_API_KEY.
        timeout: Seconds that one request may take.
        retries: How often a request is sent again after 429, 5xx, a lost connection or a
            time-out.
        concurrency: Requests under way at once.
        dialect: ``vllm``, ``llama.cpp``, ``llama-cpp-python``, ``openai``, or ``auto`` to find out.
        top_k: How many likeliest tokens to ask for, or None for what the server usually allows.
        tokenizer: Folder of the model's tokenizer, for a server that has none to ask.
        n_vocab: How many ids the model has, where neither server nor tokenizer tells.
        probe: A text of at least two tokens for the requests at the start.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    api_key: SecretStr | None = None
    timeout: Annotated[float, Field(gt=0)] = 120.0
    retries: Annotated[int, Field(ge=0)] = 4
    concurrency: Annotated[int, Field(ge=1)] = 8
    dialect: str = "auto"
    top_k: Annotated[int, Field(ge=1)] | None = None
    tokenizer: str | None = None
    n_vocab: Annotated[int, Field(ge=2)] | None = None
    probe: str = "The sky is blue and the grass is"

    def secret(self) -> str | None:
        """Return the key of the options or of the environment."""
        if self.api_key is not None:
            return self.api_key.get_secret_value()
        return os.environ.get("LIKELY_API_KEY") or None


@runtime_checkable
class _LocalTokenizer(Tokenizer, Protocol):
    bos_id: int | None
    eos_id: int | None
    n_tokens: int

    @property
    def adds_bos(self) -> bool:
        """Whether it begins every text with its BOS."""
        ...


def load_server(rest: str, *, dtype: str, device: str, **options: object) -> ServerModel:
    """Return the model behind ``<base url>#<model>``, after a probe of what it can do.

    Args:
        rest: Such as ``http://localhost:8000/v1#org/name``.
        dtype: Of no effect: the server has chosen.
        device: Of no effect.
        options: The fields of `Options`.

    Raises:
        InputError: An address or option that cannot be used.
        UnknownNameError: No such dialect, or no such model on the server.
        CapabilityError: It gives too little to score with, or log-probs after temperature.
        ServerError: It does not answer.
    """
    address = parse_address(rest)
    chosen = _read_options(options)
    transport = Transport(
        api_key=chosen.secret(),
        timeout=chosen.timeout,
        retries=chosen.retries,
        concurrency=chosen.concurrency,
    )
    try:
        return _connect(f"server:{rest}", address, chosen, transport)
    except BaseException:
        transport.close()
        raise


def _connect(name: str, address: Address, options: Options, transport: Transport) -> ServerModel:
    try:
        dialect = make_dialect(options.dialect, transport, address, sample=options.probe)
        facts = dialect.facts(options.probe)
        tokenizer, facts = _tokenizer(dialect, facts, options)
        findings = probe(dialect, tokenizer, facts, text=options.probe, top_k=options.top_k)
    except CapabilityError as error:
        raise CapabilityError(f"{name!r}: {error}") from error
    return ServerModel(
        info=_info(name, address, findings, tokenizer, n_vocab=options.n_vocab),
        tokenizer=tokenizer,
        findings=findings,
        transport=transport,
        concurrency=options.concurrency,
    )


def _tokenizer(dialect: Dialect, facts: Facts, options: Options) -> tuple[Tokenizer, Facts]:
    """Return a local tokenizer if one is named, else one over the server."""
    if options.tokenizer is not None:
        home = import_module("likely.models.hf_tokenizer")
        local = cast(_LocalTokenizer, home.HfTokenizer.load(options.tokenizer))
        _check_same(dialect, local, options)
        return local, Facts(
            version=facts.version,
            weights=facts.weights,
            n_vocab=facts.n_vocab or local.n_tokens,
            context=facts.context,
            bos_id=local.bos_id,
            eos_id=local.eos_id,
            adds_bos=local.adds_bos,
        )
    if not dialect.has_tokenizer:
        raise CapabilityError(
            "the server has no tokenize endpoint; pass tokenizer=<folder of its transformers "
            "tokenizer>"
        )
    spelled = dialect.spell(options.probe, special=False)
    if not spelled:
        raise InputError(f"the server splits the probe {options.probe!r} into no tokens")
    return ServerTokenizer(dialect, anchor=spelled[-1][0]), facts


def _check_same(dialect: Dialect, local: Tokenizer, options: Options) -> None:
    if not dialect.has_tokenizer:
        return
    theirs = tuple(token for token, _ in dialect.spell(options.probe, special=False))
    ours = local.encode(options.probe).tokens
    if ours != theirs:
        raise InputError(
            f"the tokenizer {options.tokenizer!r} splits {options.probe!r} into {list(ours)}, the "
            f"server into {list(theirs)}; name the folder of the model that is served"
        )


def _info(
    name: str,
    address: Address,
    findings: Findings,
    tokenizer: Tokenizer,
    *,
    n_vocab: int | None,
) -> ModelInfo:
    facts = findings.asker.facts
    dialect = findings.asker.dialect.name
    named = [address.api, address.model, dialect, facts.version, facts.weights]
    print_of = json.dumps([named, [round(value, 3) for value in findings.values]])
    told = facts.n_vocab or n_vocab
    return ModelInfo(
        name=name,
        fingerprint=hashlib.blake2b(print_of.encode(), digest_size=16).hexdigest(),
        n_vocab=told or ANY_VOCABULARY,
        n_tokens=told or ANY_VOCABULARY,
        # A request holds the target too, and room for the one token that must be generated.
        max_tokens=None if facts.context is None else facts.context - 2,
        dtype="unknown",
        device="server",
        backend=f"server {dialect} {facts.version}",
        bos_id=facts.bos_id,
        eos_id=facts.eos_id,
        adds_bos=facts.adds_bos,
        capabilities=_capabilities(findings, tokenizer),
        details={
            "dialect": dialect,
            "prompts": "text" if findings.asker.by_text else "token ids",
            "prompt_log_probs": f"not used: {findings.no_own}" if findings.no_own else "exact",
            "top_k": findings.top_k,
            "temperature_probe": findings.temperature,
            "context": facts.context,
            "vocabulary": "known" if told else "unknown",
        },
    )


def _capabilities(findings: Findings, tokenizer: Tokenizer) -> frozenset[Capability]:
    capabilities = {Capability.CONTINUATION}  # exact, or from lists with bounds
    if findings.top_k:
        capabilities.add(Capability.TOP_TOKENS)
    try:
        tokenizer.render_chat([{"role": "user", "content": "a"}], open_reply=True)
        capabilities.add(Capability.CHAT)
    except CapabilityError:
        pass
    return frozenset(capabilities)


def _read_options(options: dict[str, object]) -> Options:
    try:
        return Options.model_validate(options)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"a server takes the options {sorted(Options.model_fields)}: {place}: {first['msg']}"
        ) from None
