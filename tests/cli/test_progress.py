"""The progress bar: one for the job, in tokens, and only where somebody watches."""

import io
import sys

from likely.cli.progress import TokenMeter, waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True


def put_stderr(monkeypatch, stream):
    """Stand ``stream`` in for stderr; in the test's own body, where pytest leaves it alone."""
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def work(meter):
    with meter:
        meter.expect(100)
        for _ in range(50):
            meter.advance(2)


def test_nothing_is_written_where_nobody_watches(monkeypatch):
    pipe = put_stderr(monkeypatch, io.StringIO())
    work(TokenMeter("scoring"))
    assert pipe.getvalue() == ""


def test_nothing_is_written_when_quiet(monkeypatch):
    terminal = put_stderr(monkeypatch, Terminal())
    work(TokenMeter("scoring", quiet=True))
    assert terminal.getvalue() == ""


def test_a_terminal_gets_one_bar_in_tokens_that_leaves_no_line(monkeypatch):
    terminal = put_stderr(monkeypatch, Terminal())
    work(TokenMeter("scoring"))
    assert "scoring:" in terminal.getvalue()
    assert "/100" in terminal.getvalue()
    assert "tok/s" in terminal.getvalue()
    assert "\n" not in terminal.getvalue()


def test_the_bar_is_there_before_the_first_work(monkeypatch):
    terminal = put_stderr(monkeypatch, Terminal())
    with TokenMeter("scoring"):
        assert "scoring:" in terminal.getvalue()


def test_a_job_that_goes_on_after_reading_says_so(monkeypatch):
    terminal = put_stderr(monkeypatch, Terminal())
    with TokenMeter("reading", then="estimating") as meter:
        meter.expect(100)
        meter.advance(99)
        assert "estimating" not in terminal.getvalue()
        meter.advance(1)
        assert "estimating" in terminal.getvalue()


def test_tokens_that_turn_out_not_to_be_needed_leave_the_total(monkeypatch):
    put_stderr(monkeypatch, Terminal())
    with TokenMeter("scoring") as meter:
        meter.expect(100)
        meter.advance(40)
        meter.expect(-60)
        assert meter._bar.total == 40
        meter.expect(-100)
        assert meter._bar.total == 40


def test_closing_twice_or_before_any_work_is_harmless(monkeypatch):
    terminal = put_stderr(monkeypatch, Terminal())
    meter = TokenMeter("scoring")
    meter.close()
    meter.expect(1)
    meter.close()
    meter.close()
    assert terminal.getvalue().count("scoring:") >= 1


def test_waiting_is_shown_on_a_terminal_and_leaves_no_trace(monkeypatch):
    terminal = put_stderr(monkeypatch, Terminal())
    with waiting("loading x", quiet=False):
        assert terminal.getvalue() == "\rloading x ..."
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_waiting_is_silent_in_a_pipe_and_when_quiet(monkeypatch):
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        put_stderr(monkeypatch, stream)
        with waiting("loading x", quiet=quiet):
            pass
        assert stream.getvalue() == ""
