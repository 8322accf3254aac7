"""What servers send, as far as it is needed: strict about that, blind to the rest. Unit: nats."""

from pydantic import BaseModel, ConfigDict


class _Wire(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Version(_Wire):
    """vLLM: GET /version."""

    version: str


class Meta(_Wire):
    """llama-server's own facts about a model."""

    n_vocab: int | None = None
    n_params: int | None = None
    size: int | None = None


class Served(_Wire):
    """One model of the list."""

    id: str
    aliases: list[str] = []
    max_model_len: int | None = None
    root: str | None = None
    meta: Meta | None = None


class ServedList(_Wire):
    """GET /v1/models."""

    data: list[Served]


class Props(_Wire):
    """llama-server: GET /props."""

    class Generation(_Wire):
        """Default settings; ``n_ctx`` is the context of one slot."""

        n_ctx: int

    default_generation_settings: Generation
    build_info: str
    model_path: str = ""
    bos_token: str = ""
    eos_token: str = ""


class Ids(_Wire):
    """The answer of a tokenize endpoint that names ids alone."""

    tokens: list[int]


class Piece(_Wire):
    """A token with its text, or with its bytes where they are no UTF-8."""

    id: int
    piece: str | list[int]


class Pieces(_Wire):
    """llama-server: POST /tokenize with ``with_pieces``."""

    tokens: list[Piece]


class Prompt(_Wire):
    """vLLM: POST /detokenize."""

    prompt: str


class Content(_Wire):
    """llama-server: POST /detokenize."""

    content: str


class Text(_Wire):
    """llama-cpp-python: POST /extras/detokenize."""

    text: str


class LogProb(_Wire):
    """A token of vLLM's ``prompt_logprobs``."""

    logprob: float


class LogProbs(_Wire):
    """The log-probs of the completions interface."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None] | None = None


class Choice(_Wire):
    """One completion."""

    logprobs: LogProbs | None = None
    prompt_logprobs: list[dict[str, LogProb] | None] | None = None


class Usage(_Wire):
    """How many tokens a request took."""

    prompt_tokens: int
    completion_tokens: int = 0


class Completion(_Wire):
    """POST /v1/completions."""

    choices: list[Choice]
    usage: Usage


class TextChoice(_Wire):
    """One completion of which only the text is wanted."""

    text: str


class Texts(_Wire):
    """POST /v1/completions without log-probs."""

    choices: list[TextChoice]
    usage: Usage


class Written(_Wire):
    """llama-server: POST /completion without log-probs."""

    content: str
    tokens_evaluated: int
    truncated: bool = False


class ListedToken(_Wire):
    """A token of llama-server's list."""

    id: int
    token: str
    logprob: float


class Step(_Wire):
    """One generated token of llama-server with its list."""

    top_logprobs: list[ListedToken]


class NativeCompletion(_Wire):
    """llama-server: POST /completion."""

    tokens_evaluated: int
    truncated: bool = False
    completion_probabilities: list[Step] = []


class SampledToken(_Wire):
    """A token of llama-server's list of what it draws from."""

    id: int
    token: str
    prob: float


class SampledStep(_Wire):
    """One generated token of llama-server with the list that it was drawn from."""

    top_probs: list[SampledToken]


class SampledCompletion(_Wire):
    """llama-server: POST /completion with ``post_sampling_probs``."""

    tokens_evaluated: int
    truncated: bool = False
    completion_probabilities: list[SampledStep] = []
