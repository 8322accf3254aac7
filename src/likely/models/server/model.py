"""The server as a language model: one request a path, read back into pairs. Unit: nats."""

import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int

from likely.core.model import ModelInfo, Sink, Tokenizer, Tokens, TopTokens, Work
from likely.core.streams import generator
from likely.core.text.encode import Context, encode_context
from likely.core.trie import build_trie
from likely.errors import CapabilityError, InputError, LikelyError, ServerError
from likely.models.server.listing import Listing
from likely.models.server.probe import Findings
from likely.models.server.transport import RefusedError, Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One request.

    Attributes:
        ids: The prompt.
        k: How many likeliest next tokens; 0 for a path, whose own log-probs are wanted.
        pairs: The pairs that it answers: for a path by the place of their target in ``ids``,
            for a list by their target.
        node: Where to put the list itself, or None.
    """

    ids: tuple[int, ...]
    k: int
    pairs: tuple[tuple[int, int], ...]
    node: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What a request gave: values by pair with their masks, and pairs that it left open."""

    values: dict[int, tuple[float, bool]]
    open_pairs: tuple[int, ...] = ()
    listing: Listing | None = None


@dataclass(kw_only=True, eq=False)
class ServerModel:
    """A model behind an HTTP interface; made by `likely.load("server:...")`.

    Attributes:
        info: What identifies it and what it can do.
        tokenizer: Over the server, or a local copy.
        findings: What the probe at the start found.
        transport: Its connections.
        concurrency: Requests under way at once.
    """

    info: ModelInfo
    tokenizer: Tokenizer
    findings: Findings
    transport: Transport = field(repr=False)
    concurrency: int

    def __post_init__(self) -> None:
        weakref.finalize(self, self.transport.close)

    def close(self) -> None:
        """Close the connections; further use raises."""
        self.transport.close()

    def evaluate(self, work: Work, sink: Sink) -> None:
        if len(work.row_nodes) or len(work.hidden_nodes):
            raise CapabilityError(
                f"{self.info.name!r} gives no whole rows and no hidden states; use a local model"
            )
        if len(work.top_nodes):
            self._check_top_k(work.top_k)
        paths, listed = self._split_pairs(work)
        open_pairs = self._run(paths, self._read_path, sink, work)
        self._run(
            _list_jobs(work, [*listed, *open_pairs], self.findings.top_k),
            self._read_list, sink, work,
        )  # fmt: skip

    def top_with_bias(self, prefix: Tokens, bias: Mapping[int, float], *, k: int) -> TopTokens:
        """Return the ``k`` likeliest tokens after ``prefix``, some logits raised by ``bias``.

        Whether the server tells log-probs from after the bias is for the caller to find out.

        Args:
            prefix: Ids.
            bias: Nats by id; empty for the plain list.
            k: How many, at most what the server lists.

        Raises:
            CapabilityError: The server lists fewer tokens, or refuses a bias.
            ServerError: It does not answer, or not in a way that can be used.
        """
        self._check_top_k(k)
        ids = tuple(prefix)
        try:
            listing = self.findings.asker.ask(ids, own=False, k=k, bias=bias).listing
        except RefusedError as error:
            if not bias:
                raise
            raise CapabilityError(f"{self.info.name!r} refuses a logit bias: {error}") from error
        if listing is None:
            raise ServerError(f"{self._describe(ids)}: no list of likeliest tokens came")
        return listing.top(k)

    def sample_texts(self, context: Context, n: int, *, max_tokens: int, seed: int) -> list[str]:
        """Return ``n`` independent texts after a context, at temperature 1 from the whole law.

        Args:
            context: Text, ids, or a context from `likely.chat`.
            n: At least 1.
            max_tokens: Of each.
            seed: Each request gets a seed of its own from it; whether the server keeps to it is
                its own affair.

        Raises:
            InputError: ``n`` or ``max_tokens`` below 1, or a context that cannot be used.
            ServerError: It does not answer, or not in a way that can be used.
        """
        if n < 1 or max_tokens < 1:
            raise InputError(f"n and max_tokens are at least 1, got {n!r} and {max_tokens!r}")
        ids, _ = encode_context(self, context)
        seeds = generator(seed, "server samples", *ids)
        texts: list[str] = []
        with ThreadPoolExecutor(max_workers=self.concurrency) as pool:
            while len(texts) < n:  # a server may give fewer texts than a request asks for
                sizes = _shares(n - len(texts), self.findings.asker.dialect.draws)
                chosen = seeds.integers(2**31, size=len(sizes)).tolist()
                texts += [
                    text
                    for some in pool.map(
                        lambda size, own: self._draw(ids, size, max_tokens, own), sizes, chosen
                    )
                    for text in some
                ]
        return texts

    def _draw(self, ids: tuple[int, ...], n: int, max_tokens: int, seed: int) -> list[str]:
        try:
            return self.findings.asker.draw(ids, n=n, max_tokens=max_tokens, seed=seed)
        except ServerError as error:
            raise ServerError(f"{self._describe(ids)}: {error}") from error

    def _check_top_k(self, k: int) -> None:
        if k > self.findings.top_k:
            raise CapabilityError(
                f"{self.info.name!r} lists at most {self.findings.top_k} likeliest tokens, "
                f"{k} were asked for; ask for fewer, or load it with a larger top_k="
            )

    def _split_pairs(self, work: Work) -> tuple[list[_Job], list[int]]:
        """Return one job for each longest path, and the pairs that need lists instead."""
        if self.findings.no_own:
            return [], list(range(len(work.pair_nodes)))
        asker = self.findings.asker
        sequences = [
            (*work.trie.prefix(int(node)), int(target))
            for node, target in zip(work.pair_nodes, work.pair_targets, strict=True)
        ]
        trie, nodes = build_trie(sequences)
        leaves = trie.leaves()
        members: dict[int, list[tuple[int, int]]] = {}
        for pair, path in enumerate(nodes):
            leaf = int(leaves[np.searchsorted(leaves, path[-1])])
            members.setdefault(leaf, []).append((pair, len(path) - 1))
        jobs: list[_Job] = []
        listed: list[int] = []
        for leaf, pairs in members.items():
            ids = trie.prefix(leaf)
            if asker.dialect.echo_fault(ids, asker.facts):
                listed += [pair for pair, _ in pairs]
            else:
                jobs.append(_Job(ids=ids, k=0, pairs=tuple(pairs)))
        return jobs, listed

    def _read_path(self, job: _Job) -> _Outcome:
        reading = self.findings.asker.ask(job.ids, own=True, k=1)
        values: dict[int, tuple[float, bool]] = {}
        missing = []
        for pair, place in job.pairs:
            value = reading.own[place - 1] if reading.own is not None else None
            if value is None:
                missing.append(pair)
            else:
                values[pair] = (value, False)
        return _Outcome(values=values, open_pairs=tuple(missing))

    def _read_list(self, job: _Job) -> _Outcome:
        if not self.findings.top_k:
            raise ServerError("it told no log-prob of a token and lists no likeliest ones instead")
        listing = self.findings.asker.ask(job.ids, own=False, k=job.k).listing
        if listing is None:
            raise ServerError("a list of likeliest tokens was asked for, none came")
        values = {pair: self._value(listing, target) for pair, target in job.pairs}
        return _Outcome(values=values, listing=listing)

    def _value(self, listing: Listing, target: int) -> tuple[float, bool]:
        if any(entry.token is None for entry in listing.entries):
            piece = self.tokenizer.decode([target])
            if not piece or "\ufffd" in piece:
                return listing.value_of_piece(None, is_canonical=False)
            is_canonical = self.tokenizer.encode(piece).tokens == (target,)
            return listing.value_of_piece(piece, is_canonical=is_canonical)
        value = listing.value(target)
        return (listing.log_prob_elsewhere, True) if value is None else (value, False)

    def _run(
        self,
        jobs: Iterable[_Job],
        read: Callable[[_Job], _Outcome],
        sink: Sink,
        work: Work,
    ) -> list[int]:
        """Do all jobs, a few at a time; return the pairs that the server left open."""
        left_open: list[int] = []
        clock = time.perf_counter()
        at_once = 1 if work.settings.deterministic else self.concurrency
        for job, outcome in self._outcomes(list(jobs), read, at_once):
            now = time.perf_counter()
            sink.spend(tokens=len(job.ids), calls=1, seconds=now - clock)
            clock = now
            if outcome.values:
                index = np.array(list(outcome.values), dtype=np.int64)
                values = np.array([value for value, _ in outcome.values.values()])
                mask = np.array([is_bound for _, is_bound in outcome.values.values()])
                sink.put_pairs(index, values, mask)
            if job.node is not None and outcome.listing is not None:
                sink.put_top(job.node, outcome.listing.top(work.top_k))
            left_open += outcome.open_pairs
        return left_open

    def _outcomes(
        self, jobs: list[_Job], read: Callable[[_Job], _Outcome], at_once: int
    ) -> Iterator[tuple[_Job, _Outcome]]:
        pool = ThreadPoolExecutor(max_workers=at_once)
        try:
            futures = {pool.submit(read, job): job for job in jobs}
            for future in as_completed(futures):
                job = futures[future]
                try:
                    yield job, future.result()
                except ServerError as error:
                    raise ServerError(f"{self._describe(job.ids)}: {error}") from error
        finally:
            pool.shutdown(cancel_futures=True)

    def _describe(self, ids: tuple[int, ...]) -> str:
        try:
            text = self.tokenizer.decode(ids)
        except LikelyError:  # the server that failed may be the one that knows the text
            return f"{self.info.name!r} after the tokens {list(ids[-20:])}"
        return f"{self.info.name!r} after {text if len(text) <= 60 else '...' + text[-57:]!r}"


def _shares(n: int, most: int) -> list[int]:
    """Return sizes of at most ``most`` that add up to ``n``."""
    return [min(most, n - start) for start in range(0, n, most)]


def _list_jobs(work: Work, pairs: list[int], k: int) -> list[_Job]:
    """Return one job for each prefix whose list is wanted, for its pairs or for itself."""
    by_node: dict[int, list[tuple[int, int]]] = {int(node): [] for node in work.top_nodes}
    for pair in pairs:
        target = int(work.pair_targets[pair])
        by_node.setdefault(int(work.pair_nodes[pair]), []).append((pair, target))
    tops: Int[np.ndarray, "K"] = work.top_nodes
    return [
        _Job(
            ids=work.trie.prefix(node),
            k=k if wanted else work.top_k,
            pairs=tuple(wanted),
            node=node if node in tops else None,
        )
        for node, wanted in by_node.items()
    ]
