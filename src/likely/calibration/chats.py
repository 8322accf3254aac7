"""How an item is put to a chat model: as a question, or as the opening of its reply. Unit: none.

``none`` is the bare text. With ``answer`` the user's turn holds an instruction and the text, and an
option opens the assistant's turn. With ``prefill`` the user's turn holds the instruction, and the
text opens the assistant's turn, so that an option follows it as in the bare text.
"""

from typing import Literal

from likely.calibration.data_sets.items import Item
from likely.core.model import LanguageModel
from likely.core.text.chat import chat as render
from likely.core.text.encode import Context
from likely.errors import InputError, UnknownNameError

Chat = Literal["none", "answer", "prefill"]

CHATS: tuple[Chat, ...] = ("none", "answer", "prefill")

WRAPPERS: dict[str, str] = {
    "finish": "Finish the unfinished text with a single word.",
    "last_word": "A text breaks off right before its last word. Give that word and nothing else.",
    "missing": "Supply the one word that is missing at the end of the text.",
    "in_proportion": (
        "Finish the unfinished text with a single word. Where it could be one of several, pick it "
        "by chance, so that each option comes up in proportion to its chance."
    ),
}
"""Name to instruction. ``in_proportion`` is the control: it says that the word is to be drawn, for
without that a reader may give the likeliest option on purpose, and be right to."""

DEFAULT_WRAPPER = "finish"


def prompt(
    model: LanguageModel, item: Item, *, chat: Chat = "none", wrapper: str | None = None
) -> tuple[Context, str]:
    """Return what stands before an option of the item, and what parts the option from it.

    Args:
        model: With a chat template, unless ``chat`` is ``none``.
        item: With its context and the lead of its options.
        chat: See the module.
        wrapper: A name of `WRAPPERS`; `DEFAULT_WRAPPER` if None. The bare text has none.

    Returns:
        The context, and the lead: the item's own, or none where an option opens the turn.

    Raises:
        CapabilityError: The model has no chat template.
        InputError: An unknown mode, or a wrapper for the bare text.
        UnknownNameError: No such wrapper.
    """
    name = wrapper_name(chat, wrapper)
    if name is None:
        return item.context, item.lead
    instruction = WRAPPERS[name]
    if chat == "answer":
        asked = {"role": "user", "content": f"{instruction}\n\n{item.context}"}
        return render(model, [asked]), ""
    asked = {"role": "user", "content": instruction}
    opened = {"role": "assistant", "content": item.context}
    return render(model, [asked, opened]), item.lead


def wrapper_name(chat: Chat, wrapper: str | None) -> str | None:
    """Return which wrapper is used, None for the bare text.

    Raises:
        InputError: An unknown mode, or a wrapper for the bare text.
        UnknownNameError: No such wrapper.

    >>> wrapper_name("answer", None)
    'finish'
    """
    if chat not in CHATS:
        raise InputError(f"chat is one of {list(CHATS)}, got {chat!r}")
    if wrapper is not None and wrapper not in WRAPPERS:
        raise UnknownNameError.among("wrapper", wrapper, WRAPPERS)
    if chat == "none":
        if wrapper is not None:
            raise InputError(
                f"the bare text has no wrapper, got {wrapper!r}; "
                "ask for a chat mode, answer or prefill"
            )
        return None
    return wrapper or DEFAULT_WRAPPER
