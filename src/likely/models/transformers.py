"""Causal models of the transformers library: scores, hidden states, heads and gradients. Nats."""

import copy
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from jaxtyping import Float, Int

from likely.core.branches import EngineStem, Stem
from likely.core.model import Capability, HiddenNorm, Method, ModelInfo, Settings, Sink, Work
from likely.core.plan import CostModel, Pass, Plan, make_plan
from likely.core.trie import build_trie
from likely.errors import CapabilityError, InputError, MissingExtraError, StoreError
from likely.models.hf_tokenizer import HfTokenizer
from likely.models.planning import Footprint, Planner, timed

try:
    import torch
    import transformers
except ImportError as error:
    raise MissingExtraError(
        "this model needs torch and transformers: pip install 'likely[hf]'"
    ) from error

from likely.models.branching import Machinery, ModelStem
from likely.models.fingerprint import weights_fingerprint
from likely.models.last_states import LastStates
from likely.models.passes import AttentionLayout, PassRunner, log_softmax
from likely.models.stem_attention import KeysValues

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

T = TypeVar("T")
A = TypeVar("A", np.ndarray, torch.Tensor)

_DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
_ROWS_AT_ONCE = 64  # next-token rows that are held at a time, fewer under a small budget
_ROWS_IN_CACHE = 16  # of these the softmax is taken together: what a processor holds near itself
_PROBE_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}
_HALF_PROBE_TOLERANCE = 0.1  # mean nats over a row; a wrong mask is off by far more
# What a forward raises in an architecture without K/V in attention layers, or without 4-D masks.
_NO_FAST_PATH = (ValueError, TypeError, KeyError, AttributeError, RuntimeError, IndexError)
_ATTENTION = ("sdpa", "eager")
# What the library and its readers raise on missing, damaged and truncated files.
_UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    ImportError,
    RuntimeError,
    EOFError,
    TypeError,
    AttributeError,
    struct.error,
)
_NORM_NAMES = ("norm", "ln_f", "final_layer_norm", "final_layernorm", "final_norm", "norm_f")


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalNorm:
    """The normalisation before the output layer.

    Attributes:
        kind: ``rms`` (no centring) or ``layer``.
        weight: Shape ``(D,)``, the gain as it multiplies, or None.
        bias: Shape ``(D,)``, or None.
        epsilon: Added to the mean square (or variance).
    """

    kind: Literal["rms", "layer"]
    weight: Float[np.ndarray, "D"] | None
    bias: Float[np.ndarray, "D"] | None
    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedding:
    """The output layer.

    Attributes:
        weight: Shape ``(V, D)``, float32.
        bias: Shape ``(V,)``, or None.
        is_linear: Whether logits are exactly ``weight @ hidden + bias``; some models cap or scale.
        is_tied: Whether the weight is also the input embedding.
    """

    weight: Float[np.ndarray, "V D"]
    bias: Float[np.ndarray, "V"] | None
    is_linear: bool
    is_tied: bool


class TransformersModel:
    """A causal model of transformers, evaluated prefix by prefix and never twice.

    The module given stays the caller's: its training flags are restored after each call, no hook
    stays on it, and its weights are never changed.

    Args:
        module: A causal language model (its ``forward`` gives logits).
        tokenizer: A fast tokenizer, or an `HfTokenizer`.
        name: Shown in results.

    Raises:
        CapabilityError: The model is no causal language model that can be evaluated here.
    """

    def __init__(
        self,
        module: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerFast | HfTokenizer",
        *,
        name: str = "transformers",
    ) -> None:
        self.module = module
        self._temperature = 1.0
        self._tokenizer = (
            tokenizer if isinstance(tokenizer, HfTokenizer) else HfTokenizer(tokenizer)
        )
        self._head = module.get_output_embeddings()
        if self._head is None or not hasattr(module, module.base_model_prefix):
            raise CapabilityError(
                f"{name!r} ({type(module).__name__}) has no language model head; "
                "load a causal model"
            )
        self._backbone = getattr(module, module.base_model_prefix)
        config = module.config.get_text_config()
        self._runner = PassRunner(
            self._backbone, n_layers=config.num_hidden_layers, layout=_layout(module)
        )
        self._final_norm = _find_final_norm(self._backbone)
        self._reader: LastStates | None = None
        with self._inference():
            self._is_linear = self._head_is_linear()
            methods = self._probe_methods()
        self._info = self._describe(name, methods)
        self._shares_stem = "cache" in methods and self._probe_stem()
        self._keeps_keys = "cache" in methods and self._runner.layout.window is None
        self._planner = Planner(
            f"{self._info.identity} {self._runner.device} {torch.get_num_threads()}",
            _footprint(module),
            methods=methods,
            time_pass=self._time_pass,
            max_tokens=self._info.max_tokens,
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def tokenizer(self) -> HfTokenizer:
        return self._tokenizer

    def evaluate(self, work: Work, sink: Sink) -> None:
        wanted = np.union1d(np.union1d(work.row_nodes, work.pair_nodes), work.hidden_nodes)
        plan = self._planner.plan(work.trie, work.settings)
        with self._inference(), self._watch_norm(work) as before_norm:
            start = time.perf_counter()
            for step, nodes, states in self._runner.iter_hidden(plan, work.trie, wanted):
                self._give_hidden(work, sink, step, nodes, before_norm.get("states", states))
                self._give_scores(work, sink, nodes, states)
                now = time.perf_counter()
                sink.spend(tokens=step.n_tokens, calls=1, seconds=now - start)
                start = now

    def stem(self, tokens: Sequence[int], *, settings: Settings | None = None) -> Stem:
        """Return a stem whose branches keep keys and values, where that is possible and wanted.

        It is not in architectures that have none, nor where the settings ask for whole sequences
        or for bits that do not depend on the batch.
        """
        asked = settings or Settings()
        is_whole = asked.method == "full" or asked.deterministic
        if is_whole or "cache" not in self._planner.methods:
            return EngineStem(self, tokens, settings=settings)
        parts = self._machinery(
            memory=asked.memory, max_tokens=self.info.max_tokens, shares_stem=self._shares_stem
        )
        return ModelStem(parts, tokens)

    def _machinery(self, *, memory: int, max_tokens: int | None, shares_stem: bool) -> Machinery:
        return Machinery(
            runner=self._runner, logits=self._logits, n_vocab=self._head.weight.shape[0],
            inference=self._inference, memory=memory, max_tokens=max_tokens,
            describe=self._describe_text, shares_stem=shares_stem,
        )  # fmt: skip

    def _describe_text(self, tokens: Sequence[int]) -> str:
        return f"{self.info.name!r} after {self.tokenizer.decode(tokens)[-60:]!r}"

    def at_temperature(self, temperature: float) -> "TransformersModel":
        """Return the model with every next-token law to the power 1/temperature, weights shared.

        Args:
            temperature: Divides logits; above 1 laws are flatter. It multiplies with that of a
                model which has one already.

        Raises:
            InputError: It is not positive and finite.
        """
        other = copy.copy(self)
        other._info = self._info.at_temperature(temperature)
        other._temperature = self._temperature * temperature
        return other

    def unembedding(self) -> Unembedding:
        """Return the output layer as arrays."""
        bias = getattr(self._head, "bias", None)
        embedding = self.module.get_input_embeddings().weight
        return Unembedding(
            weight=self._divided(_array(self._head.weight)),
            bias=None if bias is None else self._divided(_array(bias)),
            is_linear=self._is_linear,
            is_tied=self._head.weight.data_ptr() == embedding.data_ptr(),
        )

    def input_embeddings(self) -> Float[np.ndarray, "V D"]:
        """Return the input embedding of each id, float32, before any scaling by the model."""
        return _array(self.module.get_input_embeddings().weight)

    def embed(self, tokens: Int[torch.Tensor, "B T"]) -> Float[torch.Tensor, "B T D"]:
        """Return input embeddings of ids as `logits` takes them, without a gradient.

        Args:
            tokens: Shape ``(B, T)``, ids, on any device.

        Returns:
            Shape ``(B, T, D)``, in the dtype of the weights and where they are.
        """
        with torch.no_grad():
            embedded: torch.Tensor = self.module.get_input_embeddings()(
                tokens.to(self._runner.device)
            )
        return embedded

    def final_norm(self) -> FinalNorm:
        """Return the parameters of the normalisation before the output layer.

        Raises:
            CapabilityError: The model has none that can be found.
        """
        norm = self._final_norm
        if norm is None:
            raise CapabilityError(f"{self.info.name!r} has no final norm that can be found")
        weight, bias = getattr(norm, "weight", None), getattr(norm, "bias", None)
        epsilon = next(
            (float(getattr(norm, a)) for a in ("variance_epsilon", "eps") if hasattr(norm, a)), 0.0
        )
        is_layer = isinstance(norm, torch.nn.LayerNorm)
        gain = None if weight is None else _array(weight)
        if gain is not None and not is_layer and self._adds_one_to_gain(norm, gain, epsilon):
            gain = gain + 1.0
        return FinalNorm(
            kind="layer" if is_layer else "rms",
            weight=gain,
            bias=None if bias is None else _array(bias),
            epsilon=epsilon,
        )

    def logits(
        self,
        *,
        tokens: torch.Tensor | None = None,
        embeddings: torch.Tensor | None = None,
    ) -> Float[torch.Tensor, "B T V"]:
        """Return logits of whole sequences with gradients, dropout off.

        Args:
            tokens: Shape ``(B, T)``, ids; or
            embeddings: Shape ``(B, T, D)``, in place of the input embeddings of tokens.

        Raises:
            InputError: Both or neither are given.
        """
        if (tokens is None) == (embeddings is None):
            raise InputError("the differentiable forward takes tokens or embeddings, one of them")
        with self._evaluation_mode():
            output = self.module(input_ids=tokens, inputs_embeds=embeddings, use_cache=False)
        logits: torch.Tensor = output.logits
        return self._divided(logits)

    def last_states(
        self,
        *,
        tokens: torch.Tensor | None = None,
        embeddings: torch.Tensor | None = None,
        norm: HiddenNorm = "before",
    ) -> Float[torch.Tensor, "B D"]:
        """Return the hidden state of the last token of each input, in the dtype of the weights.

        Args:
            tokens: Shape ``(B, T)``, ids; or
            embeddings: Shape ``(B, T, D)``, in place of the input embeddings of tokens; gradients
                by them are kept if they are asked for.
            norm: Before or after the final norm.

        Raises:
            InputError: Both or neither are given.
            CapabilityError: No final norm can be found, and the state before it is asked for.
        """
        if (tokens is None) == (embeddings is None):
            raise InputError("states are of tokens or of embeddings, one of them")
        reader, before = self._last_states(norm), norm == "before"
        if tokens is None:
            with self._evaluation_mode():
                return reader.of(embeddings=embeddings, before_norm=before)
        with self._inference():
            return reader.of(tokens=tokens.to(self._runner.device), before_norm=before)

    @property
    def keeps_keys(self) -> bool:
        """Whether `last_states_onward` goes on from stored keys and values."""
        return self._keeps_keys

    def last_states_onward(
        self,
        embeddings: torch.Tensor,
        stored: KeysValues,
        *,
        norm: HiddenNorm = "before",
    ) -> tuple[Float[torch.Tensor, "B D"], KeysValues]:
        """Return the last hidden state of inputs whose first tokens have been read before.

        Args:
            embeddings: Shape ``(B, n, D)``, of the tokens after those; gradients by them are kept
                if they are asked for.
            stored: Keys and values of the first tokens, layer by layer, shape ``(B, H, L, D)``;
                empty to begin with none.
            norm: Before or after the final norm.

        Returns:
            The states, and keys and values of all tokens without a gradient.

        Raises:
            CapabilityError: The model reuses none, or no final norm can be found and the state
                before it is asked for.
        """
        if not self.keeps_keys:
            raise CapabilityError(
                f"{self.info.name!r} does not go on from stored keys and values; use last_states()"
            )
        reader = self._last_states(norm)
        with self._evaluation_mode():
            return reader.onward(embeddings, stored, before_norm=norm == "before")

    def states_after(
        self, stems: torch.Tensor, endings: torch.Tensor, *, rows: int, norm: HiddenNorm = "before"
    ) -> Float[torch.Tensor, "P S D"]:
        """Return the last hidden state of every stem with every ending; each stem is read once.

        Args:
            stems: Shape ``(P, T)``, ids.
            endings: Shape ``(S, k)``, ids; each of them follows every stem.
            rows: Endings that follow each stem at once, at most.
            norm: Before or after the final norm.

        Raises:
            CapabilityError: No final norm can be found, and the state before it is asked for.
        """
        device, reader = self._runner.device, self._last_states(norm)
        with self._inference():
            return reader.after(
                stems.to(device), endings.to(device), before_norm=norm == "before", rows=rows
            )

    def _last_states(self, norm: HiddenNorm) -> LastStates:
        if norm == "before" and self._final_norm is None:
            raise CapabilityError(f"{self.info.name!r} has no final norm that can be found")
        if self._reader is None:
            with self._inference():
                self._reader = LastStates(
                    self._backbone, self._final_norm, n_vocab=self.info.n_vocab,
                    shares_stem=self._shares_stem, cache_name=self._runner.cache_name,
                )  # fmt: skip
        return self._reader

    def _give_scores(
        self, work: Work, sink: Sink, nodes: Int[np.ndarray, "n"], states: torch.Tensor
    ) -> None:
        is_scored = np.isin(nodes, work.row_nodes) | np.isin(nodes, work.pair_nodes)
        places = np.flatnonzero(is_scored)
        row_bytes = 20 * int(self._head.weight.shape[0])  # logits in fp32, twice in fp64
        size = max(1, min(_ROWS_AT_ONCE, work.settings.memory // (4 * row_bytes)))
        for start in range(0, len(places), size):
            part = places[start : start + size]
            logits = self._logits(states[torch.from_numpy(part)])
            for few in range(0, len(part), _ROWS_IN_CACHE):
                chosen = slice(few, few + _ROWS_IN_CACHE)
                self._give_chunk(work, sink, nodes[part[chosen]], log_softmax(logits[chosen]))

    def _give_chunk(
        self, work: Work, sink: Sink, nodes: Int[np.ndarray, "n"], log_probs: torch.Tensor
    ) -> None:
        first = np.searchsorted(work.pair_nodes, nodes)
        last = np.searchsorted(work.pair_nodes, nodes + 1)
        counts = last - first
        if counts.sum():
            index = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
            rows = torch.from_numpy(np.repeat(np.arange(len(nodes)), counts)).to(log_probs.device)
            targets = torch.from_numpy(work.pair_targets[index]).to(log_probs.device)
            sink.put_pairs(index, log_probs[rows, targets].cpu().numpy())
        is_row = np.isin(nodes, work.row_nodes)
        if is_row.any():
            if not is_row.all():
                log_probs = log_probs[torch.from_numpy(is_row).to(log_probs.device)]
            sink.put_rows(nodes[is_row], log_probs.cpu().numpy())

    def _give_hidden(
        self,
        work: Work,
        sink: Sink,
        step: Pass,
        nodes: Int[np.ndarray, "n"],
        states: torch.Tensor,
    ) -> None:
        chosen = np.flatnonzero(np.isin(nodes, work.hidden_nodes))
        if not len(chosen):
            return
        if states.ndim == 3:  # the whole pass, as the final norm saw it
            rows, columns = np.nonzero(np.isin(step.nodes, nodes))
            _, first = np.unique(step.nodes[rows, columns], return_index=True)
            states = states[torch.from_numpy(rows[first]), torch.from_numpy(columns[first])]
        vectors = states[torch.from_numpy(chosen)].to(torch.float32).cpu().numpy()
        sink.put_hidden(nodes[chosen], vectors)

    def _logits(self, states: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._head(states) if self._is_linear else self._whole_head(states)
        return self._divided(logits)

    def _divided(self, logits: A) -> A:
        """Return logits, or the weights that make them, over the temperature; at 1 as they are."""
        return logits if self._temperature == 1.0 else logits / self._temperature

    def _whole_head(self, states: torch.Tensor) -> torch.Tensor:
        """Return logits by the model's own forward, with the backbone standing aside.

        Caps and scales of logits live in that forward under many names; this takes them all.
        """
        name = self.module.base_model_prefix
        setattr(self.module, name, _Given(states[None]))
        try:
            ids = torch.zeros((1, len(states)), dtype=torch.long, device=states.device)
            logits: torch.Tensor = self.module(input_ids=ids, use_cache=False).logits[0]
        finally:
            setattr(self.module, name, self._backbone)
        return logits

    def _head_is_linear(self) -> bool:
        """Return whether the output layer alone gives the model's logits."""
        ids = torch.arange(8, device=self._runner.device)[None] % self._head.weight.shape[0]
        whole = self.module(input_ids=ids, use_cache=False).logits[0, -1]
        states = self._backbone(input_ids=ids, use_cache=False).last_hidden_state[0, -1]
        return bool(torch.allclose(whole, self._head(states), rtol=1e-3, atol=1e-3))

    def _probe_methods(self) -> frozenset[Method]:
        """Return which fast paths reproduce the plain forward on a small branching trie."""
        rng = np.random.default_rng(0)
        stem = rng.integers(0, self._head.weight.shape[0], 12).tolist()
        trie, _ = build_trie([stem, [*stem[:5], *stem[2:6]], stem[4:8], [*stem[:9], stem[0]]])
        wanted = trie.leaves()
        limit = _PROBE_TOLERANCE.get(self._runner.dtype, _HALF_PROBE_TOLERANCE)

        def rows(method: Method) -> torch.Tensor:
            plan = make_plan(trie, method=method, row_tokens=8, batch_rows=4)
            found: dict[int, torch.Tensor] = {}
            for _, nodes, states in self._runner.iter_hidden(plan, trie, wanted):
                found |= zip(nodes.tolist(), log_softmax(self._logits(states)), strict=True)
            return torch.stack([found[node] for node in wanted.tolist()])

        reference = rows("full")
        good: set[Method] = {"full"}
        for method in ("tree", "cache"):
            try:
                gap = (rows(method) - reference).abs().mean(dim=1).max()
            except _NO_FAST_PATH:
                continue
            if float(gap) <= limit:
                good.add(method)
        return frozenset(good)

    def _probe_stem(self) -> bool:
        """Return whether attention over a stem that stands once gives what it gives over copies."""
        if self._runner.layout.is_eager or self._runner.layout.window is not None:
            return False
        ids = np.random.default_rng(0).integers(0, self._head.weight.shape[0], (3, 12))

        def grown(*, shares_stem: bool) -> Float[np.ndarray, "3 6"]:
            parts = self._machinery(memory=1 << 29, max_tokens=None, shares_stem=shares_stem)
            branches = ModelStem(parts, ids[0, :6].tolist()).branches(5, 3)
            return np.hstack([branches.grow(ids[:, 6:9]), branches.grow(ids[:, 9:])])

        try:
            gap = np.abs(grown(shares_stem=True) - grown(shares_stem=False)).mean()
        except _NO_FAST_PATH:
            return False
        return float(gap) <= _PROBE_TOLERANCE.get(self._runner.dtype, _HALF_PROBE_TOLERANCE)

    def _time_pass(self, n_new: int, n_keys: int) -> float:
        past = np.arange(n_keys - n_new)
        trie, _ = build_trie([[0] * n_keys])
        nothing = np.empty((1, 0), dtype=np.int64)
        store = Pass(
            nodes=past[None], past_slots=nothing, past_nodes=nothing,
            kept_places=np.stack([np.zeros_like(past), past]), kept_slots=past,
        )  # fmt: skip
        main = Pass(
            nodes=np.arange(len(past), n_keys)[None], past_slots=past[None],
            past_nodes=past[None], kept_places=np.empty((2, 0), dtype=np.int64),
            kept_slots=np.empty(0, dtype=np.int64),
        )  # fmt: skip
        passes = (store, main) if len(past) else (main,)
        plan = Plan(passes=passes, n_slots=len(past), method="tree")
        with self._inference():
            run = self._runner.iter_hidden(plan, trie, np.array([n_keys - 1]))
            if len(past):
                next(run)
            return timed(lambda: next(run))

    def _adds_one_to_gain(
        self, norm: torch.nn.Module, gain: Float[np.ndarray, "D"], epsilon: float
    ) -> bool:
        """Return whether this RMS norm multiplies by one plus its weight, as Gemma's does."""
        state = torch.linspace(-1.0, 2.0, len(gain), device=self._runner.device)
        with self._inference():
            seen = norm(state[None].to(self._runner.dtype))[0].float().cpu().numpy()
        plain = state.cpu().numpy()
        unit = plain / np.sqrt(np.mean(plain**2) + epsilon)
        gap_as_is = np.abs(seen - unit * gain).max()
        return bool(np.abs(seen - unit * (gain + 1.0)).max() < gap_as_is)

    def _describe(self, name: str, methods: frozenset[Method]) -> ModelInfo:
        config = self.module.config
        text = config.get_text_config()
        tok = self._tokenizer
        has = {
            Capability.CONTINUATION,
            Capability.NEXT_TOKEN,
            Capability.TOP_TOKENS,
            Capability.HIDDEN_STATES,
            Capability.UNEMBEDDING,
            Capability.INPUT_EMBEDDINGS,
            Capability.GRADIENTS,
        }
        has |= {Capability.SHARED_PREFIX} if "tree" in methods else set()
        has |= {Capability.FINAL_NORM} if self._final_norm is not None else set()
        has |= {Capability.CHAT} if tok.has_chat_template else set()
        attention = str(config._attn_implementation)
        settings = {k: v for k, v in config.to_dict().items() if not k.startswith("_")}
        settings.pop("transformers_version", None)
        return ModelInfo(
            name=name,
            fingerprint=weights_fingerprint(
                self.module.state_dict(), repr(sorted(settings.items(), key=lambda kv: kv[0])),
                tok.inner.backend_tokenizer.to_str(),
            ),
            n_vocab=int(self._head.weight.shape[0]),
            n_tokens=min(tok.n_tokens, int(self._head.weight.shape[0])),
            max_tokens=getattr(text, "max_position_embeddings", None),
            dtype=str(self._runner.dtype).removeprefix("torch."),
            device=str(self._runner.device),
            backend=" ".join(
                ("transformers", transformers.__version__, "torch", torch.__version__, attention)
            ),
            bos_id=tok.bos_id,
            eos_id=tok.eos_id,
            adds_bos=tok.adds_bos,
            capabilities=frozenset(has),
            details={
                "architecture": type(self.module).__name__,
                "parameters": sum(p.numel() for p in self.module.parameters()),
                "layers": text.num_hidden_layers,
                "hidden size": text.hidden_size,
                "methods": ", ".join(sorted(methods)),
            },
        )  # fmt: skip

    @contextmanager
    def _inference(self) -> Iterator[None]:
        with self._evaluation_mode(), torch.inference_mode():
            yield

    @contextmanager
    def _evaluation_mode(self) -> Iterator[None]:
        """Turn dropout off, and put every training flag back as the caller had it."""
        training = [part for part in self.module.modules() if part.training]
        if training:
            self.module.eval()
        try:
            yield
        finally:
            for part in training:
                part.training = True

    @contextmanager
    def _watch_norm(self, work: Work) -> Iterator[dict[str, torch.Tensor]]:
        """Catch what goes into the final norm, while hidden states before it are wanted."""
        seen: dict[str, torch.Tensor] = {}
        if not len(work.hidden_nodes) or work.hidden_norm == "after":
            yield seen
            return
        if self._final_norm is None:
            raise CapabilityError(f"{self.info.name!r} has no final norm that can be found")

        def keep(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            seen["states"] = inputs[0].detach()

        handle = self._final_norm.register_forward_pre_hook(keep)
        try:
            yield seen
        finally:
            handle.remove()


class _Given(torch.nn.Module):
    """Stands in for a backbone and returns given hidden states."""

    def __init__(self, states: torch.Tensor) -> None:
        super().__init__()
        self.states = states

    def forward(self, *args: object, **kwargs: object) -> object:
        from transformers.modeling_outputs import BaseModelOutputWithPast

        return BaseModelOutputWithPast(last_hidden_state=self.states)


def load_hf(rest: str, *, dtype: str, device: str, **options: object) -> TransformersModel:
    """Return a causal model from a folder or a Hub id; a folder never opens a socket.

    Args:
        rest: Folder or Hub id.
        dtype: Of the weights.
        device: ``auto`` takes a GPU if there is one.
        options: ``attention``: ``sdpa`` or ``eager``, by default the first that works;
            ``revision`` on the Hub.

    Raises:
        InputError: An unknown dtype or option.
        StoreError: A file is missing or damaged; the message names it.
    """
    _check_options(options, {"attention", "revision"})
    extra = {"revision": options["revision"]} if "revision" in options else {}
    return _load(rest, f"hf:{rest}", dtype, device, options.get("attention"), extra)


def load_folder(
    path: Path, name: str, *, dtype: str, device: str, **options: object
) -> TransformersModel:
    """Return the model of a folder under a name of its own; it never opens a socket."""
    _check_options(options, {"attention"})
    return _load(str(path), name, dtype, device, options.get("attention"), {})


def load_gguf(rest: str, *, dtype: str, device: str, **options: object) -> TransformersModel:
    """Return the causal model of a GGUF file, its weights dequantised.

    Raises:
        InputError: An unknown dtype or option.
        StoreError: The file is missing or damaged.
    """
    _check_options(options, {"attention"})
    path = Path(rest)
    if not path.is_file():
        raise StoreError(f"no GGUF file at {rest!r}; give the path of a .gguf file")
    extra = {"gguf_file": path.name}
    return _load(str(path.parent), f"gguf:{rest}", dtype, device, options.get("attention"), extra)


def _load(
    source: str,
    name: str,
    dtype: str,
    device: str,
    attention: object,
    extra: Mapping[str, object],
) -> TransformersModel:
    if dtype not in _DTYPES:
        raise InputError(f"dtype is one of {sorted(_DTYPES)}, got {dtype!r}")
    if attention is not None and attention not in _ATTENTION:
        raise InputError(f"attention is one of {list(_ATTENTION)}, got {attention!r}")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    local = Path(source).is_dir()
    common = {**extra, "local_files_only": local}
    kinds = [str(attention)] if attention else list(_ATTENTION)
    with _quiet():
        tokenizer = _read(
            lambda: transformers.AutoTokenizer.from_pretrained(source, **common), name
        )
        module = _read(lambda: _first_that_works(source, _DTYPES[dtype], kinds, common), name)
        return TransformersModel(_to_device(module, device), tokenizer, name=name)


def _first_that_works(
    source: str, dtype: torch.dtype, kinds: list[str], common: Mapping[str, object]
) -> "PreTrainedModel":
    """Return the model with the first attention kind that its architecture has."""
    for kind in kinds:
        try:
            module = transformers.AutoModelForCausalLM.from_pretrained(
                source, dtype=dtype, attn_implementation=kind, **common
            )
            with torch.inference_mode():
                module(input_ids=torch.zeros((1, 2), dtype=torch.long), use_cache=False)
        except ValueError as error:
            if kind == kinds[-1] or "attention" not in str(error):
                raise
        else:
            return module
    raise InputError("no attention kind was given")


def _read(read: Callable[[], T], name: str) -> T:
    """Return what ``read`` gives, with the library's many errors turned into one line of ours."""
    from safetensors import SafetensorError

    try:
        return read()
    except (*_UNREADABLE, SafetensorError) as error:
        lines = [line for line in str(error).strip().splitlines() if line.strip()]
        reason = lines[0] if lines else type(error).__name__
        raise StoreError(
            f"cannot load a causal language model from {name!r}: {reason}; "
            "check that its files are there and whole"
        ) from error


def _to_device(module: "PreTrainedModel", device: str) -> "PreTrainedModel":
    try:
        return module.eval().to(device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"cannot use the device {device!r}: {reason}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's own bars and notes off the screen; failures come as exceptions."""
    from transformers.utils import logging

    was_on = logging.is_progress_bar_enabled()
    level = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with redirect_stderr(StringIO()):  # the GGUF reader has a bar that no switch turns off
            yield
    finally:
        logging.set_verbosity(level)
        if was_on:
            logging.enable_progress_bar()


def _check_options(options: Mapping[str, object], known: set[str]) -> None:
    unknown = sorted(set(options) - known)
    if unknown:
        raise InputError(f"unknown option {unknown[0]!r} for this model; known: {sorted(known)}")


def _layout(module: "PreTrainedModel") -> AttentionLayout:
    config = module.config.get_text_config()
    types = set(getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None)
    if getattr(config, "use_sliding_window", True) is False:
        window = None
    return AttentionLayout(
        is_eager=config._attn_implementation == "eager",
        window=window,
        is_mixed=bool(types) and types <= {"full_attention", "sliding_attention"},
    )


def _find_final_norm(backbone: torch.nn.Module) -> torch.nn.Module | None:
    for part in (backbone, getattr(backbone, "decoder", None)):
        for name in _NORM_NAMES:
            found = getattr(part, name, None)
            if isinstance(found, torch.nn.Module):
                return found
    return None


def _footprint(module: "PreTrainedModel") -> Footprint:
    """Return what a token takes, by arithmetic; state-space models have no heads to count."""
    config = module.config.get_text_config()
    hidden, layers = config.hidden_size, config.num_hidden_layers
    n_heads = getattr(config, "num_attention_heads", None) or 1
    n_stored = getattr(config, "num_key_value_heads", None) or n_heads
    head_size = getattr(config, "head_dim", None) or hidden // n_heads
    inner = getattr(config, "intermediate_size", None) or 4 * hidden
    size = next(module.parameters()).element_size()
    n_weights = sum(p.numel() for p in module.parameters())
    n_weights -= module.get_output_embeddings().weight.numel()
    flop = 1e-11  # seconds; only ratios matter: any speed gives the same order of plans
    return Footprint(
        activations=size * (12 * hidden + 3 * inner),
        keys_values=2 * layers * n_stored * head_size * size,
        cost=CostModel(
            per_call=30 * 2 * n_weights * flop,
            per_token=2 * n_weights * flop,
            per_pair=5 * layers * n_heads * head_size * flop,
        ),
    )


def _array(tensor: torch.Tensor) -> Float[np.ndarray, "..."]:
    return tensor.detach().to(torch.float32).cpu().numpy().copy()
