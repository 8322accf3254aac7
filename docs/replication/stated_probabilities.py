"""Ask SmolLM2 for probabilities in words and compare with those that it has: stated.json.

    python docs/replication/stated_probabilities.py OUT.json

Exact stated distributions over 0 to 100 percent, on bare text and as a question to the assistant;
greedy replies, read by `likely.calibration.parse_probability`; and the paper's opening example.
"""

import json
import sys
from pathlib import Path

import likely
from likely import calibration
from likely.calibration.chats import prompt
from likely.calibration.data_sets.family import FAMILIES
from likely.calibration.data_sets.items import Option, make_item
from likely.calibration.data_sets.wording import fill
from likely.core.generation import greedy

N_REPLIES = 40


def opening(model: likely.LanguageModel) -> list[dict]:
    """Return the share of red with 98 blue and 99 red things, in both orders, by wording."""
    from fractions import Fraction

    rows = []
    templates = FAMILIES.load("colors").templates
    for name, template in templates.items():
        for (c1, n1), (c2, n2) in (
            (("blue", 98), ("red", 99)),
            (("red", 99), ("blue", 98)),
        ):
            text = fill(template, {"c1": c1, "c2": c2}, {"n1": n1, "n2": n2})
            item = make_item(
                family="opening", version=1, template_id=name, template=template,
                context=text.text, options=[Option(label=c, words=(c,)) for c in (c1, c2)],
                ideal=[Fraction(n1, n1 + n2), Fraction(n2, n1 + n2)], numbers=[n1, n2],
            )  # fmt: skip
            found = calibration.evaluate(model, [item]).frame.iloc[0]
            red = found["pi1"] if c1 == "red" else 1.0 - found["pi1"]
            rows.append({"template": name, "first": c1, "pm": found["pm"], "red": float(red)})
    return rows


def main(out: str) -> None:
    """Run everything and write it."""
    model = likely.load("smollm2")
    stated_items = list(calibration.build("verbalised", preset="lite"))
    revealed_items = list(calibration.build("verbalised", preset="lite", design="revealed"))
    made: dict[str, object] = {"opening": opening(model)}
    for chat in ("none", "answer"):
        asked = calibration.score_items(model, stated_items, chat=chat)
        shown = calibration.evaluate(model, revealed_items, chat=chat).frame
        stated = calibration.stated_distribution(asked.masses)
        joined = calibration.join_revealed(
            stated_items, revealed_items, shown["pi1"].to_numpy(dtype=float)
        )
        made[chat] = {
            "mass_of_percentages": float(stated.mass.mean()),
            "mass_of_options": float(shown["pm"].mean()),
            **{
                name: calibration.compare_stated(
                    getattr(stated, name), joined.revealed, joined.ideal,
                    number_pairs=joined.number_pairs,
                ).to_dict()
                for name in ("mean", "mode")
            },
        }  # fmt: skip
    some = stated_items[:: len(stated_items) // N_REPLIES][:N_REPLIES]
    contexts = [prompt(model, item, chat="answer")[0] for item in some]
    replies = [reply.text for reply in greedy(model, contexts, max_tokens=24)]
    read = [calibration.parse_probability(reply, unit="percent") for reply in replies]
    made["replies"] = {
        "n": len(replies),
        "n_unread": sum(x is None for x in read),
        "examples": [
            {"context": item.context, "reply": reply, "read": None if x is None else float(x)}
            for item, reply, x in zip(some[:6], replies[:6], read[:6], strict=True)
        ],
    }
    Path(out).write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
