"""Which kind of server this is, by the endpoints that only one kind has."""

from likely.errors import UnknownNameError
from likely.models.server.dialect import Address, Dialect
from likely.models.server.llama_cpp import LlamaCppPython, LlamaServer
from likely.models.server.replies import Ids, Props, Version
from likely.models.server.transport import AnswerError, RefusedError, Transport
from likely.models.server.vllm import Vllm, answers_tokenize

DIALECTS = ("vllm", "llama.cpp", "llama-cpp-python", "openai")


def make_dialect(name: str, transport: Transport, address: Address, *, sample: str) -> Dialect:
    """Return the dialect of that name; ``auto`` asks the server which one it speaks.

    Raises:
        UnknownNameError: No such dialect.
    """
    if name == "auto":
        name = _detect(transport, address)
    if name == "vllm":
        return Vllm(transport=transport, address=address)
    if name == "llama.cpp":
        return LlamaServer(transport=transport, address=address)
    if name == "llama-cpp-python":
        return LlamaCppPython(transport=transport, address=address)
    if name == "openai":
        return Vllm(transport=transport, address=address, name="openai", tops=(20, 5, 1),
                    has_tokenizer=answers_tokenize(transport, address, sample))  # fmt: skip
    raise UnknownNameError.among("server dialect", name, ("auto", *DIALECTS))


def _detect(transport: Transport, address: Address) -> str:
    """Return the dialect by the endpoints that only one kind of server has."""
    try:
        transport.get(f"{address.root}/version", Version)
        return "vllm"
    except (RefusedError, AnswerError):
        pass
    try:
        transport.get(f"{address.root}/props", Props)
        return "llama.cpp"
    except (RefusedError, AnswerError):
        pass
    try:
        body = {"model": address.model, "input": ""}
        transport.post(f"{address.root}/extras/tokenize", body, Ids)
        return "llama-cpp-python"
    except (RefusedError, AnswerError):
        return "openai"
