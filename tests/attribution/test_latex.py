"""LaTeX: nothing in a prompt is read by TeX as more than its letters."""

import re

import pytest
from attributions import chain, drawn, exact, grouped, with_infinities
from hypothesis import given
from hypothesis import strategies as st
from test_cells import shown_as
from test_style import contrast as contrast_ratio

from likely.attribution import contrast
from likely.attribution.latex import COLOURS, escape

COMMANDS = {
    "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textless": "<",
    "textgreater": ">", "textbar": "|", "textquotedbl": '"', "textquotesingle": "'",
    "textasciigrave": "`", "textvisiblespace": " ",
}  # fmt: skip
ACTIVE = set("\\{}$&#_%^~")
LIGATURES = ("--", "``", "''", ",,", "<<", ">>", "?`", "!`")


def read(tex):
    """Return what TeX would set for the escaped text, as a reader written apart from the writer.

    Anything that is not one of the few forms allowed is an error.
    """
    made, at = [], 0
    forms = re.compile(
        r"\\ensuremath\{\\hookleftarrow\}|\\ensuremath\{\\rightarrow\}"
        r"|\\([a-zA-Z]+)\{\}|\\([{}$&#_%])|\\( )|\{([-,?!])\}|(~)"
    )
    while at < len(tex):
        form = forms.match(tex, at)
        if form is None:
            assert tex[at] not in ACTIVE, (tex[at], tex)
            made.append(tex[at])
            at += 1
            continue
        if form[0].startswith("\\ensuremath"):
            made.append("\n" if "hook" in form[0] else "\t")
        elif form[1] is not None:
            made.append(COMMANDS[form[1]])
        else:
            made.append(next(x for x in form.groups()[1:] if x is not None).replace("~", "\u00a0"))
        at = form.end()
    return "".join(made)


def named(text):
    """Return text with the characters that have no shape as their numbers."""
    import unicodedata

    hidden = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return "".join(
        f"<U+{ord(c):04X}>"
        if c not in "\n\t" and (unicodedata.category(c) in hidden or c == "\ufffd")
        else c
        for c in text
    )


SPECIAL = st.text(st.sampled_from([*"\\{}$&#_%^~<>|\"'`-,?! ab\n\t", "\x07", "é", "日", "\u202e"]))


@given(text=st.one_of(st.text(), SPECIAL), is_space_shown=st.booleans())
def test_what_is_escaped_reads_as_it_was(text, is_space_shown):
    assert read(escape(text, is_space_shown=is_space_shown)) == named(text)


@given(text=SPECIAL)
def test_no_ligature_and_no_comment_and_no_paragraph_is_left(text):
    made = escape(text)
    assert not any(pair in made for pair in LIGATURES)
    assert "\n" not in made
    assert re.search(r"(?<!\\)%", made) is None
    assert made.count("{") - made.count(r"\{") == made.count("}") - made.count(r"\}")
    assert "  " not in made


def test_a_command_in_a_prompt_is_letters():
    assert escape(r"\input{/etc/passwd}") == r"\textbackslash{}input\{/etc/passwd\}"


def balanced(tex):
    """Return whether braces and environments close in order, comments left out."""
    tex = re.sub(r"(?<!\\)%.*", "", tex)
    depth = 0
    for brace in re.findall(r"\\[{}\\]|[{}]", tex):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        assert depth >= 0
    open_ones = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", tex):
        if kind == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    return depth == 0 and not open_ones and tex.count(r"\begingroup") == tex.count(r"\endgroup")


@pytest.mark.parametrize("make", [exact, drawn, lambda: with_infinities(drawn())])
@pytest.mark.parametrize("standalone", [False, True])
def test_the_whole_is_balanced_and_every_colour_is_defined(make, standalone):
    made = make().to_latex(standalone=standalone)
    assert balanced(made)
    used = set(re.findall(r"\\colorbox\{(\w+)\}", made))
    assert used == set(re.findall(r"\\definecolor\{(\w+)\}", made))
    assert made.startswith(r"\documentclass") == standalone
    assert "nan" not in made.lower()


def test_each_token_stands_once_and_each_row_has_its_cells():
    found = exact()
    made = found.to_latex()
    prompt = made[made.index(r"\begingroup\raggedright") : made.index(r"\par\endgroup")]
    lines = prompt.splitlines()[1:]
    assert len([line for line in lines if line]) == len(found.case.prompt)
    rows = [line for line in made.splitlines() if line.endswith(r"\\") and "&" in line]
    assert len(rows) == 1 + len(found.places)
    assert all(row.count(" & ") == 5 for row in rows)
    assert r"2 & \texttt{b} & $+0.575$ & exact & $0.611$ & $1.204$ \\" in rows


def test_a_limit_keeps_the_strongest_and_says_so():
    made = exact().to_latex(limit=1)
    assert r"2 more with scores nearer 0" in made
    assert "0.575" in made


def test_what_is_not_known_or_not_attributed_is_marked():
    found = drawn()
    made = found.to_latex()
    n_open = sum(not place.converged for place in found.places)
    assert made.count(r"\textsuperscript{?}") == 2 * n_open
    assert r"\textcolor{gray}{" in exact(positions=[0]).to_latex()


def test_places_of_several_tokens_and_odd_prompts_are_written():
    made = grouped(exact()).to_latex()
    assert "0, 1 & " in made
    text = "  if x_1:\n\n  % done"
    spans = [(0, 4), (4, 11), (11, 13), (13, len(text))]
    made = shown_as(text, spans).to_latex()
    assert balanced(made)
    assert r"x\_1:\ensuremath{\hookleftarrow}\ensuremath{\hookleftarrow}" in made.replace("\n", "")
    assert r"\%\ done" in made
    assert r"\mbox{}\ \ if" in made


def test_a_line_ends_where_the_prompt_has_a_break():
    made = shown_as("a\nb\n", [(0, 1), (1, 3), (3, 4)]).to_latex()
    assert r"a\allowbreak{}%|\ensuremath{\hookleftarrow}\\%|b\allowbreak{}%|" in made.replace(
        "\n", "|"
    )


def test_text_on_every_colour_has_the_contrast_of_wcag_aa():
    for depth, code in COLOURS.items():
        ink = "#ffffff" if abs(depth) == 4 else "#000000"
        assert contrast_ratio(f"#{code.lower()}", ink) >= 4.5


@pytest.mark.parametrize("standalone", [False, True])
def test_a_contrast_is_its_differences_in_boxes_and_a_table(standalone):
    found = contrast(chain(), "aab", "b", "a", method="exact")
    made = found.to_latex(standalone=standalone)
    assert balanced(made)
    assert made.startswith(r"\documentclass") == standalone
    assert "Difference in nats:" in made
    rows = [line for line in made.splitlines() if line.endswith(r"\\") and "&" in line]
    assert len(rows) == 1 + len(found.places)
    assert all(row.count(" & ") == 5 for row in rows)
    both = [one.scores[2] for one in (found.first, found.second)]
    numbers = " & ".join(
        [f"${found.differences[2]:+.3f}$", "exact", *(f"${x:+.3f}$" for x in both)]
    )
    assert rf"2 & \texttt{{b}} & {numbers} \\" in rows
    assert "2 more with differences nearer 0" in found.to_latex(limit=1)


def test_a_long_group_names_its_positions_by_their_ends():
    made = exact("aabba", groups=[(0, 1, 2, 4)]).to_latex()
    assert r"0--2, 4 & \texttt{aab\textvisiblespace{}…\textvisiblespace{}a}" in made
