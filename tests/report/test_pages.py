"""Both pages: what they say, what they escape, what they may reach, where they may go."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import attrs
import polars as pl
import pytest
from tests.report.conftest import HOSTILE, NAME, table

import sfumato as sf
from sfumato.attacks.ceiling import Guarantee
from sfumato.errors import OutputError
from sfumato.evaluation.outcome import Details
from sfumato.models.prospects import prospects
from sfumato.report import internal_html, publishable_html, write_internal, write_publishable
from sfumato.report.figures import histogram, matrix, scatter
from sfumato.report.page import Page
from sfumato.report.words import brief, number, of_hundred, percent, plain

VOID = {"meta", "path", "circle", "link", "br", "img"}


class Reader(HTMLParser):
    """Elements, their attributes, headings and text; fails on a page whose tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text, self.scripts = [], [], [], 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, given):
        self.elements.append((tag, dict(given)))
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, given):
        self.elements.append((tag, dict(given)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if not {"style", "script"} & set(self.open):
            self.text.append(text)


@pytest.fixture(scope="module")
def pages(evaluation, model):
    return {
        "internal": internal_html(evaluation, model=model),
        "publishable": publishable_html(model),
    }


@pytest.mark.parametrize("name", ["internal", "publishable"])
def test_a_page_needs_nothing_else_and_runs_nothing_else(pages, name):
    page, read = pages[name], Reader(pages[name])
    assert len(page.encode()) < 300_000
    assert read.scripts == 1 and not re.search(r"https?://|//[a-z]|url\(|@import", page)
    (policy,) = [given["content"] for tag, given in read.elements if given.get("http-equiv")]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    for tag, given in read.elements:
        assert not {"src", "style", "onclick", "onerror", "onload"} & set(given), (tag, given)
        assert tag not in ("img", "iframe", "link", "object", "form", "b", "i")
        if "href" in given:
            assert given["href"].startswith("#")


@pytest.mark.parametrize("name", ["internal", "publishable"])
def test_every_value_is_escaped(pages, name):
    text = "".join(Reader(pages[name]).text)
    assert NAME in text
    for label in HOSTILE[:3]:
        assert label not in pages[name]
    assert "49" not in re.findall(r"\{\{.*?\}\}|\b49\b(?= others)", pages[name])
    assert "alert(1)</script>" not in pages[name]


@pytest.mark.parametrize("name", ["internal", "publishable"])
def test_a_page_can_be_read_by_keyboard_and_screen_reader(pages, name):
    read = Reader(pages[name])
    tags = [tag for tag, _ in read.elements]
    assert {"header", "main", "nav", "footer", "h1"} <= set(tags) and tags.count("h1") == 1
    assert ("html", {"lang": "en"}) in read.elements
    names = {given["id"] for _, given in read.elements if "id" in given}
    for tag, given in read.elements:
        if tag == "svg":
            assert given.get("aria-hidden") == "true" or (given["role"] == "img" and given["aria-label"])
        if tag == "th":
            assert given["scope"] in ("col", "row")
        if tag == "section":
            assert given["aria-labelledby"] in names
        if tag == "a":
            assert given["href"][1:] in names
    assert tags.count("table") == tags.count("caption") > 3
    headings = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_the_internal_page_is_stamped_on_every_section(pages):
    page = pages["internal"]
    sections = re.findall(r"<section .*?</section>", page, flags=re.S)
    assert len(sections) > 5
    for section in sections[1:]:
        assert "INTERNAL: contains private data" in section
    assert page.index("INTERNAL") < page.index("<h1>")


def test_the_first_screen_answers_three_people(pages, model):
    first = "".join(
        Reader(re.search(r"<main.*?</section>", pages["internal"], flags=re.S).group() + "</main>").text
    )
    assert "epsilon 1" in first and "1 in 100 people who were not in the table" in first
    for words in ("Single columns", "Pairs of columns", "Telling synthetic rows", "Who was in the table?"):
        assert words in first
    assert "Columns that are farthest off" in first and "Pairs of columns that are farthest off" in first
    assert "half: 0.5" in first and "twice: 2" in first


def test_the_publishable_page_holds_what_is_released_and_no_more(pages, model, tmp_path):
    page = pages["publishable"]
    text = "".join(Reader(page).text)
    for words in (
        "Noise of each marginal",
        "ledger",
        "facts come from",
        "sfumato verify",
        str(model.statement),
    ):
        assert words in text
    for entry in model.ledger:
        assert entry.hash[:12] in text
    # The model file alone decides what is on it.
    model.save(tmp_path / "m.sfumato")
    assert publishable_html(sf.load(tmp_path / "m.sfumato")) == page


def test_a_model_without_a_guarantee_is_not_called_publishable():
    loose = sf.fit(table(300, 1), epsilon=1.0, method="independent", insecure_noise_seed=1)
    page = publishable_html(loose)
    assert "NOT PRIVATE" in page and "PUBLISHABLE" not in page and 'content="internal"' in page


def test_a_method_without_a_guarantee_is_not_called_publishable():
    with pytest.warns(sf.PrivacyWarning):
        exact = sf.fit(table(300, 1), method="gaussian-copula")
    page = publishable_html(exact)
    assert "NOT PRIVATE" in page and "PUBLISHABLE" not in page and 'content="internal"' in page
    assert "Differentially private model" not in page and "hnan" not in page and "∞" in page
    assert "fits the rows as they are" in page


def test_no_guarantee_is_said_to_be_unknown_and_a_stated_one_unchecked(evaluation):
    assert "Not known" in internal_html(evaluation)
    assert "not checked" in internal_html(evaluation, guarantee=Guarantee(2.0, 1e-6))


def test_states_are_shown_as_words_never_as_zero(evaluation):
    measure = evaluation["marginals.tv1"].measure
    odd = [
        attrs.evolve(measure, name="marginals.tv1").failed("of <b>something</b>"),
        attrs.evolve(measure, name="marginals.tv2").not_applicable("there is one column"),
    ]
    broken = attrs.evolve(evaluation, outcomes=tuple(odd))
    text = "".join(Reader(internal_html(broken)).text)
    assert "Failed: of <b>something</b>." in text and "Not applicable: there is one column." in text
    assert "Not run: attacks were not asked for." in text


def test_odd_tables_make_a_page():
    one = pl.DataFrame({"a": [1.5]})
    for real, synthetic in ((one, one), (one.head(0), one), (one, pl.DataFrame({"z": ["x"]}))):
        page = internal_html(sf.evaluate(real, synthetic, families=["marginals", "structure"]))
        Reader(page)


def test_wide_tables_stay_small():
    wide = pl.DataFrame({f"column {i}": [(i * j) % 5 for j in range(60)] for i in range(90)})
    page = internal_html(
        sf.evaluate(wide, wide.sample(fraction=1, shuffle=True, seed=1), families=["marginals", "structure"])
    )
    assert len(page.encode()) < 300_000 and "pairs that are less far off are left out" in page


def test_an_internal_page_goes_nowhere_near_a_release(evaluation, model, tmp_path):
    release, desk = tmp_path / "release", tmp_path / "desk"
    release.mkdir()
    desk.mkdir()
    model.save(release / "m.sfumato")
    with pytest.raises(OutputError, match=r"holds a model \(m.sfumato\)"):
        write_internal(evaluation, release / "page.html", model=model)
    assert {each.name for each in release.iterdir()} == {"m.sfumato"}
    write_internal(evaluation, release / "page.html", model=model, force=True)
    write_internal(evaluation, desk / "page.html", model=release / "m.sfumato")
    assert (desk / "page.html").stat().st_mode & 0o077 == 0
    with pytest.raises(OutputError, match="exists"):
        write_internal(evaluation, desk / "page.html")
    write_publishable(model, tmp_path / "page.html")
    with pytest.raises(OutputError, match="a publishable report"):
        evaluation.to_html(tmp_path / "internal.html")
    with pytest.raises(OutputError, match="the synthetic rows"):
        write_internal(evaluation, desk / "b.html", synthetic=desk / "s.csv", private=(tmp_path / "r.csv",))
    write_internal(evaluation, desk / "b.html", synthetic=desk / "s.csv", private=(desk / "r.csv",))


def test_prospects_follow_from_released_numbers(model):
    half, now, twice = prospects(model)
    assert half.error.one_way >= now.error.one_way >= twice.error.one_way > 0
    assert half.noise == pytest.approx(2 * now.noise, rel=0.1) and now.noise > twice.noise
    loose = attrs.evolve(model, void="noise from a fixed seed")
    assert prospects(loose) == ()


def test_numbers_in_words():
    assert [percent(x) for x in (0, 1e-6, 0.0042, 0.042, 0.42, 0.996, 1)] == [
        "0 %", "below 0.01 %", "0.42 %", "4.2 %", "42 %", "99.6 %", "100 %",
    ]  # fmt: skip
    assert [of_hundred(x) for x in (0, 0.0002, 0.016, 0.551, 1)] == ["0", "0.02", "1.6", "55.1", "100"]
    assert (
        number(None) == "–"
        and number(float("nan")) == "–"
        and number(-0.5) == "−0.5"
        and number(12345.6) == "12,346"
    )
    assert "no more than 2.7 in 100" in plain(Guarantee(1.0))


def test_drawings_hold_what_they_are_given():
    import numpy as np

    drawn = histogram("x", ["a", "b"], np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    assert drawn.fill.count("M") == 1 and "50.0%" in drawn.summary and drawn.top == "100%"
    values = np.array([[1.0, -0.5], [-0.5, np.nan]])
    assert dict(matrix("m", ["a", "b"], values, signed=True).levels) == {
        10: "M0 0h1v1h-1z",
        -5: "M1 0h1v1h-1zM0 1h1v1h-1z",
    }
    points = scatter(
        "s", "x", "y", [("one", np.array([0.0, 1.0, np.nan]), np.array([0.0, 1.0, 0.0]))], diagonal=True
    )
    assert points.series[0][1].count("M") == 2 and points.diagonal
    assert isinstance(Details(("a",), ((1,),)), Details) and Page is not None


def test_ranges_of_whole_numbers_are_named_by_whole_numbers():
    import numpy as np

    from sfumato.evaluation.gather import pair_tables
    from sfumato.report.pictures import _numbers

    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "few": rng.integers(0, 9, 900),
            "many": rng.integers(-40, 900, 900),
            "huge": 10**13 + rng.integers(0, 1000, 900),
        }
    )
    half = frame.with_columns(half=pl.col("many") + 0.5)
    facts = sf.read_schema({"columns": {"few": {"type": "int", "min": 0, "max": 8}}})
    pair = pair_tables(half, half, schema=facts)
    for column in pair:
        drawn = _numbers(column, column.values("real"))
        ends = [label for *_, label in drawn.ticks]
        assert all(re.fullmatch(r"-?\d+", text) for text in ends) == (column.name != "half"), ends
        count = int(re.search(r"shares of (\d+)", drawn.summary)[1])
        assert (count == 9 if column.name == "few" else 15 <= count <= 30) and "0.0%" in drawn.summary


def test_what_was_foretold_stands_beside_what_was_measured(evaluation, model):
    text = "".join(Reader(internal_html(evaluation, model=model)).text)
    assert "measured now" in text and "Predicted from released numbers" in text
    said = re.search(
        r"numbers in the model's own ranges, up to (\d+); what was measured, in about 20\.", text
    )
    assert said and int(said[1]) == max(codec.size - codec.atoms for codec in model.codecs if codec.ordered)
    assert "measured now" not in publishable_html(model)
    assert f"ranges, up to {said[1]}." in "".join(Reader(publishable_html(model)).text)


def test_values_that_were_not_found_are_counted_on_the_publishable_page():
    rare = pl.DataFrame({"town": [f"town {i % 150}" for i in range(600)], "sex": ["F", "M"] * 300})
    model = sf.fit(rare, epsilon=0.5, method="independent")
    text = " ".join("".join(Reader(publishable_html(model)).text).split())
    assert re.search(
        r"Beside that, \d+ % of all cells are OTHER: their values were too rare to be found\.", text
    )


def test_without_usable_people_the_page_says_why(model):
    real, made = table(200, 1), table(200, 2)
    for holdout, reason in (
        (None, "there are no hold-out rows"),
        (real.drop("age"), "the hold-out table is not used: it lacks 1 of the columns"),
    ):
        found = sf.evaluate(real, made, holdout=holdout, families=["marginals", "attacks"])
        assert found["attacks.membership"].state == "not applicable"
        text = "".join(Reader(internal_html(found)).text)
        assert reason in text and "Attacks are not applicable because there are no hold-out rows" in text


def test_what_was_sampled_is_said(evaluation):
    facts = dict(evaluation.facts) | {
        "sampling": {
            "rows for models": {"real": 200, "synthetic": 200, "largest standard error of a share": 0.031},
            "rows for associations": {
                "real": 900,
                "synthetic": 900,
                "largest standard error of a share": 0.0,
            },
            "sets of columns": {"pairs at most": 2000, "larger sets at most": 300},
        }
    }
    text = "".join(Reader(internal_html(attrs.evolve(evaluation, facts=facts))).text)
    assert (
        "200 rows of a table at most" in text
        and "off by up to 3.1 %" in text
        and "900" not in text.split("What was compared")[-1]
    )


def test_names_can_neither_flood_the_first_screen_nor_turn_round_what_stands_beside_them():
    long, turned = "column-" * 30, "\u202eevil"
    real = table(200, 1).rename({"age": long, "pay": turned})
    text = internal_html(sf.evaluate(real, real, families=["marginals"]))
    assert "\u202e" not in text and "\\u202eevil" in text
    first = "".join(Reader(text[: text.index("<nav")] + "</main></body></html>").text)
    assert long not in first and brief(long) in first
