"""Input distributions that have a name, for any model with a tokenizer. Unit: nats.

The table maps a name to its recipe; to add one: a `Recipe` in `recipes`, a line here, a test.
"""

from collections.abc import Sequence

from likely.core.model import LanguageModel
from likely.core.registry import Registry
from likely.errors import InputError
from likely.rare.frequencies import Frequencies, count_tokens, read_texts
from likely.rare.inputs import IndependentDistribution, check_fits
from likely.rare.layout import Layout
from likely.rare.recipes import Recipe

DISTRIBUTIONS: Registry[Recipe] = Registry(
    "input distribution",
    {
        "hex": "likely.rare.recipes:HEX",
        "camel": "likely.rare.recipes:CAMEL_CASE",
        "indent": "likely.rare.recipes:INDENT",
        "ifelse": "likely.rare.recipes:IFELSE",
        "caps": "likely.rare.recipes:CAPS",
        "english": "likely.rare.recipes:ENGLISH",
        "spanish": "likely.rare.recipes:SPANISH",
        "icl": "likely.rare.recipes:ICL",
    },
)
"""Name to recipe."""


def distribution(
    name: str,
    model: LanguageModel,
    *,
    length: int | None = None,
    texts: str | Sequence[str] | None = None,
) -> IndependentDistribution:
    """Return a named law of inputs in the tokens of a model.

    Its ``details`` say which texts it rests on (name, sha256, documents and tokens counted), and
    of each kind of place the filter, the size of the support, and the mass: the share of all
    tokens of the texts that the support makes up.

    Args:
        name: One of `DISTRIBUTIONS`.
        model: Whose tokens they are; its BOS stands first if it has one.
        length: How many places the main law has (of ``icl``: how many words); None for as many
            as in the paper.
        texts: Documents to count instead of the recipe's corpus, or the name of another corpus.
            Only the first 1,024 are counted (for ``english``, ``spanish`` and ``icl`` 16,384), and
            of each the first 16,384 tokens; ``details`` say how many there were.

    Raises:
        UnknownNameError: There is no such distribution.
        InputError: The length is not possible, a place has no token, a text is not one token
            where it must be, or the inputs are longer than the model reads.
    """
    recipe = DISTRIBUTIONS.load(name)
    layout = Layout(name, model, _frequencies(name, recipe, model, texts))
    recipe.lay(layout, _length(name, recipe, length))
    found = IndependentDistribution(
        name=name,
        supports=tuple(layout.supports),
        details=layout.details,
        sentence=recipe.sentence,
    )
    check_fits(found, model)
    return found


def _length(name: str, recipe: Recipe, length: int | None) -> int:
    if length is None:
        return recipe.length
    if length < 1 or (recipe.longest is not None and length > recipe.longest):
        most = "" if recipe.longest is None else f" and at most {recipe.longest}"
        raise InputError(f"the length of {name!r} is at least 1{most}, got {length!r}")
    return length


def _frequencies(
    name: str, recipe: Recipe, model: LanguageModel, texts: str | Sequence[str] | None
) -> Frequencies | None:
    if recipe.texts is None:
        if texts is not None:
            raise InputError(f"the distribution {name!r} takes no texts, got some; leave them out")
        return None
    documents = read_texts(recipe.texts if texts is None else texts)
    return count_tokens(documents, model, n_documents=recipe.n_documents)
