"""A model server on the loopback over a table model: three dialects, and faults on demand."""

import json
import math
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import likely

FLOAT32_LOWEST = -3.4028234663852886e38

PASSING = ("429", "500", "hang", "cut")  # faults of one answer; the next request is served
LASTING = (
    "after_temperature", "echo_ignored", "off_by_one", "too_few", "nan", "positive",
    "null_last", "sentinel_last", "zero_first", "truncated_json", "wrong_ids", "no_list",
    "never_500", "before_bias", "no_bias", "half_bias",
)  # fmt: skip


@dataclass
class State:
    """What the server serves and what it has seen."""

    model: likely.TableModel
    dialect: str
    passing: list[str] = field(default_factory=list)
    lasting: frozenset[str] = frozenset()
    max_top: int = 20
    sampled: int = 3  # rank of the token that vLLM draws, and lists even beyond its k
    most_texts: int = 1000  # of one answer
    key: str | None = None
    delays: dict[int, float] = field(default_factory=dict)  # seconds by length of the prompt
    together: int = 0
    most_together: int = 0
    hits: Counter = field(default_factory=Counter)
    bodies: list[dict] = field(default_factory=list)


class Loopback:
    """The server; `serve` sets what it speaks from now on."""

    def __init__(self):
        self.state: State | None = None
        self.lock = threading.Lock()
        self.released = threading.Event()
        handler = type("Handler", (_Handler,), {"loopback": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    def serve(self, model, dialect, *, lasting=(), passing=(), **settings) -> State:
        assert set(lasting) <= set(LASTING)
        assert set(passing) <= set(PASSING)
        self.state = State(
            model=model, dialect=dialect, lasting=frozenset(lasting), passing=list(passing),
            **settings,
        )  # fmt: skip
        return self.state

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self):
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait for each other
    disable_nagle_algorithm = True
    loopback: Loopback

    def log_message(self, *args):
        pass

    def do_GET(self):
        self._answer({})

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self._answer(json.loads(self.rfile.read(size)))

    def _answer(self, body):
        state, lock = self.loopback.state, self.loopback.lock
        with lock:
            state.hits[self.path] += 1
            state.bodies.append({"path": self.path, **body})
        if state.key is not None and self.headers["Authorization"] != f"Bearer {state.key}":
            said = self.headers["Authorization"]
            return self._send(401, {"error": f"no such key: {said}"})
        if not self.path.endswith(("/completions", "/completion")):
            return self._route(state, body)
        with lock:
            state.together += 1
            state.most_together = max(state.together, state.most_together)
            fault = state.passing.pop(0) if state.passing else None
        try:
            return self._completion(state, body, fault)
        finally:
            with lock:
                state.together -= 1

    def _completion(self, state, body, fault):
        self.loopback.released.wait(state.delays.get(len(body["prompt"]), 0.0))
        if fault == "429":
            return self._send(429, {"error": "slow down"}, {"Retry-After": "0"})
        if fault == "500" or "never_500" in state.lasting:
            said = self.headers["Authorization"]
            return self._send(500, {"error": f"broken; you sent {said}"})
        if fault == "hang":
            self.loopback.released.wait(1.0)
            return self._send(200, {})
        if fault == "cut":
            self.close_connection = True
            return None
        return self._route(state, body)

    def _route(self, state, body):
        route = _ROUTES[state.dialect].get(self.path)
        if route is None:
            return self._send(404, {"detail": "Not Found"})
        try:
            return self._send(200, route(state, body))
        except _RefusalError as refusal:
            return self._send(400, {"error": str(refusal)})
        except _UndecodableError as error:
            return self._send(500, {"error": {"message": str(error)}})

    def _send(self, status, content, headers=None):
        text = json.dumps(content)
        if "truncated_json" in self.loopback.state.lasting and "choices" in content:
            text = text[: len(text) // 2]
        raw = text.encode()
        try:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class _RefusalError(Exception):
    pass


class _UndecodableError(Exception):
    pass


def _row(state, ids, temperature=1.0):
    row = state.model.row(ids)
    if temperature != 1.0 and "after_temperature" in state.lasting:
        row = row / temperature
        row = row - np.log(np.exp(row[np.isfinite(row)]).sum())
    return row


def _biased_row(state, ids, body):
    """The row with its bias, which llama-server writes as pairs and the others as an object."""
    row = _row(state, ids, body["temperature"])
    bias = body.get("logit_bias") or {}
    if bias and "no_bias" in state.lasting:
        raise _RefusalError("logit_bias is not supported")
    if "before_bias" in state.lasting:
        return row
    row = row.copy()
    for token, value in bias.items() if isinstance(bias, dict) else bias:
        row[int(token)] += 0.5 * value if "half_bias" in state.lasting else value
    return row - np.log(np.exp(row[np.isfinite(row)] - row.max()).sum()) - row.max()


def _own(state, ids, place, temperature):
    """The log-prob of ids[place], with the faults that touch prompt log-probs."""
    if place == 0:
        return 0.0 if "zero_first" in state.lasting else None
    if "off_by_one" in state.lasting:
        return _written(_row(state, ids[: place + 1], temperature)[ids[place]])
    is_last = place == len(ids) - 1
    if is_last and "null_last" in state.lasting:
        return None
    if is_last and "sentinel_last" in state.lasting:
        return -9999.0
    if is_last and "nan" in state.lasting:
        return math.nan
    if is_last and "positive" in state.lasting:
        return 0.5
    return _written(_row(state, ids[:place], temperature)[ids[place]])


def _written(value, lowest=-9999.0):
    return float(value) if np.isfinite(value) else lowest


def _likeliest(row, k):
    return np.argsort(-row, kind="stable")[:k].tolist()


def _encode(state, text):
    try:
        return list(state.model.tokenizer.encode(text).tokens)
    except likely.InputError as error:
        raise _RefusalError(str(error)) from error


def _bos(state):
    return [] if state.model.info.bos_id is None else [state.model.info.bos_id]


def _written_texts(state, ids, body, n, max_tokens):
    """Texts drawn from the table, n of them in a stream of the seed."""
    rng = np.random.default_rng(body["seed"])
    texts = []
    for _ in range(min(n, state.most_texts)):
        written = []
        for _ in range(max_tokens):
            probs = np.exp(_row(state, [*ids, *written], body["temperature"]))
            written.append(int(rng.choice(len(probs), p=probs / probs.sum())))
            if written[-1] == state.model.info.eos_id:
                written.pop()
                break
        texts.append(state.model.tokenizer.decode(written))
    return texts


def _texts(state, ids, body):
    texts = _written_texts(state, ids, body, body["n"], body["max_tokens"])
    return {
        "choices": [{"index": i, "text": text} for i, text in enumerate(texts)],
        "usage": {"prompt_tokens": len(ids), "completion_tokens": len(texts)},
    }


# vLLM ------------------------------------------------------------------------------------------


def _vllm_models(state, body):
    return {"data": [{"id": "org/name:q4", "root": "/models/x", "max_model_len": 64}]}


def _vllm_tokenize(state, body):
    ids = (_bos(state) if body["add_special_tokens"] else []) + _encode(state, body["prompt"])
    return {"tokens": ids, "count": len(ids), "max_model_len": 64}


def _vllm_detokenize(state, body):
    return {"prompt": state.model.tokenizer.decode(body["tokens"])}


def _vllm_completion(state, body):
    prompt = body["prompt"]
    ids = prompt if isinstance(prompt, list) else _bos(state) + _encode(state, prompt)
    if "logprobs" not in body:
        return _texts(state, ids, body)
    k, temperature = body["logprobs"], body["temperature"]
    if k > state.max_top:
        raise _RefusalError(f"requested {k} logprobs, at most {state.max_top}")
    row = _biased_row(state, ids, body)
    sampled = int(
        np.argsort(-row, kind="stable")[min(state.sampled, int(np.isfinite(row).sum()) - 1)]
    )
    last = {f"token_id:{t}": _written(row[t]) for t in [sampled, *_likeliest(row, k)]}
    own = [_own(state, ids, place, temperature) for place in range(len(ids))]
    n_told = 1 if "too_few" in state.lasting else len(ids)
    named = [t + 1 for t in ids] if "wrong_ids" in state.lasting else ids
    table = None
    if body.get("prompt_logprobs") is not None and "echo_ignored" not in state.lasting:
        table = [
            None if value is None else {str(token): {"logprob": value, "rank": 1}}
            for token, value in zip(named, own, strict=True)
        ][:n_told]
    log_probs = {"tokens": [f"token_id:{sampled}"], "token_logprobs": [_written(row[sampled])],
                 "top_logprobs": [last]}  # fmt: skip
    return _completion(ids, log_probs, table=table, n_generated=1)


def _completion(ids, log_probs, *, table=None, n_generated):
    usage = {"prompt_tokens": len(ids), "completion_tokens": n_generated}
    choice = {"index": 0, "text": "", "logprobs": log_probs, "prompt_logprobs": table}
    return {"choices": [choice], "usage": usage}


# plain completions: the echo as OpenAI defined it, keyed by text ---------------------------------


def _openai_completion(state, body):
    prompt = body["prompt"]
    ids = prompt if isinstance(prompt, list) else _encode(state, prompt)
    if "logprobs" not in body:
        return _texts(state, ids, body)
    k, temperature = body["logprobs"], body["temperature"]
    row = _biased_row(state, ids, body)
    sampled = _likeliest(row, 1)[0]
    strings = state.model.tokenizer.strings
    last = {strings[t]: _written(row[t]) for t in _likeliest(row, min(k, state.max_top))}
    tokens, values, tops = [strings[sampled]], [_written(row[sampled])], [last]
    if body["echo"] and "echo_ignored" not in state.lasting:
        tokens = [strings[t] for t in ids] + tokens
        values = [_own(state, ids, place, temperature) for place in range(len(ids))] + values
        tops = [None] * len(ids) + tops
    if "no_list" in state.lasting:
        tops = None
    log_probs = {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops}
    return _completion(ids, log_probs, n_generated=1)


# llama-cpp-python --------------------------------------------------------------------------------


def _python_tokenize(state, body):
    return {"tokens": _bos(state) + _encode(state, body["input"])}


def _python_detokenize(state, body):
    pieces = [state.model.tokenizer.strings[t] for t in body["tokens"] if t not in _bos(state)]
    if any("\ufffd" in piece for piece in pieces):
        raise _UndecodableError("'utf-8' codec can't decode byte 0xf0 in position 0")
    return {"text": "".join(pieces)}


def _python_completion(state, body):
    if not isinstance(body["prompt"], str):
        raise _RefusalError("Input should be a valid string")
    ids = _bos(state) + _encode(state, body["prompt"])
    if "logprobs" not in body:
        return _texts(state, ids, {**body, "n": 1})
    temperature, k = body["temperature"], body["logprobs"]
    strings = state.model.tokenizer.strings
    generated = _likeliest(_row(state, ids, temperature), 1)
    if not body["prompt"]:  # it then takes the BOS itself for generated, and leaves it out
        nothing = {"tokens": [], "token_logprobs": [], "top_logprobs": []}
        return _completion(ids, nothing, n_generated=2)
    # As that server does it: an echo without its BOS, row by row, with the first place blank.
    leads = ids[:1] == _bos(state) and len(ids) > 0 and bool(_bos(state))
    shown = [*(ids[1:] if leads else ids), *generated] if body["echo"] else generated
    first = 0 if body["echo"] else len(ids) - 1
    rows = [_row(state, ids[: n + 1], temperature) for n in range(first, len(ids))]
    pairs = list(zip(shown, rows, strict=False))
    values = [_written(row[token]) for token, row in pairs]
    tops = [{strings[t]: _written(row[t]) for t in _likeliest(row, k)} for _, row in pairs]
    if body["echo"]:
        values[0], tops[0] = None, None
    log_probs = {"tokens": [strings[t] for t, _ in pairs], "token_logprobs": values,
                 "top_logprobs": tops}  # fmt: skip
    return _completion(ids, log_probs, n_generated=1)


# llama-server ------------------------------------------------------------------------------------


def _llama_props(state, body):
    strings = state.model.tokenizer.strings
    return {
        "default_generation_settings": {"n_ctx": 64},
        "build_info": "b1-test",
        "model_path": "/models/x.gguf",
        "bos_token": strings[_bos(state)[0]] if _bos(state) else "",
        "eos_token": "",
    }


def _llama_models(state, body):
    meta = {"n_vocab": state.model.info.n_vocab, "n_params": 1, "size": 2}
    return {"data": [{"id": "/models/x.gguf", "aliases": ["org/name:q4"], "meta": meta}]}


def _llama_tokenize(state, body):
    ids = (_bos(state) if body["add_special"] else []) + _encode(state, body["content"])
    return {"tokens": [{"id": t, "piece": state.model.tokenizer.strings[t]} for t in ids]}


def _llama_detokenize(state, body):
    return {"content": state.model.tokenizer.decode(body["tokens"])}


def _llama_completion(state, body):
    ids = body["prompt"]
    if "n_probs" not in body:
        (text,) = _written_texts(state, ids, body, 1, body["n_predict"])
        return {"content": text, "tokens_evaluated": len(ids)}
    if body["post_sampling_probs"]:
        return _llama_drawn(state, body)
    row = _row(state, ids, body["temperature"])
    listed = [
        {"id": t, "token": state.model.tokenizer.strings[t],
         "logprob": _written(row[t], FLOAT32_LOWEST)}
        for t in _likeliest(row, body["n_probs"])
    ]  # fmt: skip
    return {
        "tokens_evaluated": len(ids),
        "truncated": False,
        "completion_probabilities": [{**listed[0], "top_logprobs": listed}],
    }


def _llama_drawn(state, body):
    """What it draws from, as probabilities in float32."""
    row = _biased_row(state, body["prompt"], body)
    listed = [
        {"id": t, "token": state.model.tokenizer.strings[t],
         "prob": float(np.float32(np.exp(row[t])))}
        for t in _likeliest(row, body["n_probs"])
    ]  # fmt: skip
    return {
        "tokens_evaluated": len(body["prompt"]),
        "completion_probabilities": [{**listed[0], "top_probs": listed}],
    }


def _version(state, body):
    return {"version": "0.0-test"}


def _chat(state, body):
    return {"choices": [{"message": {"content": "hello"}}]}


_ROUTES = {
    "vllm": {
        "/version": _version,
        "/v1/models": _vllm_models,
        "/tokenize": _vllm_tokenize,
        "/detokenize": _vllm_detokenize,
        "/v1/completions": _vllm_completion,
    },
    "openai": {
        "/v1/models": _vllm_models,
        "/tokenize": _vllm_tokenize,
        "/detokenize": _vllm_detokenize,
        "/v1/completions": _openai_completion,
    },
    "no tokenizer": {"/v1/models": _vllm_models, "/v1/completions": _openai_completion},
    "chat": {
        "/v1/models": _vllm_models,
        "/tokenize": _vllm_tokenize,
        "/detokenize": _vllm_detokenize,
        "/v1/chat/completions": _chat,
    },
    "llama-cpp-python": {
        "/v1/models": _vllm_models,
        "/extras/tokenize": _python_tokenize,
        "/extras/detokenize": _python_detokenize,
        "/v1/completions": _python_completion,
    },
    "llama.cpp": {
        "/props": _llama_props,
        "/v1/models": _llama_models,
        "/tokenize": _llama_tokenize,
        "/detokenize": _llama_detokenize,
        "/completion": _llama_completion,
    },
}
