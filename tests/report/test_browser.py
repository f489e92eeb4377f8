"""Pages as Chromium draws them: no console error, no script of a label, light and dark, and tables that sort."""

import pytest
from tests.report.browser import draw, pixels, tree

from sfumato.report import write_internal, write_publishable


@pytest.fixture(scope="module")
def drawn(evaluation, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    write_publishable(model, folder / "publishable.html")
    write_internal(evaluation, folder / "internal.html", model=model, force=True)
    return folder


@pytest.mark.parametrize("name", ["internal", "publishable"])
def test_a_page_is_drawn_without_console_errors(drawn, name, tmp_path):
    light, said = draw(drawn / f"{name}.html", tmp_path / "a", width=420, height=240)
    assert said == ""
    dark, said = draw(drawn / f"{name}.html", tmp_path / "b", width=420, height=240, dark=True)
    assert said == ""
    means = []
    for picture in (light, dark):
        width, height, rows = pixels(picture)
        assert (width, height) == (420, 240)
        assert len({row[i : i + 3] for row in rows for i in range(0, len(row), 3)}) > 50  # not a blank page
        means.append(sum(map(sum, rows)) / (3 * width * height))
    assert means[0] > 200 > 80 > means[1]


def test_tables_sort_and_labels_run_nothing(drawn, tmp_path):
    page = (drawn / "internal.html").read_text()
    # Click the heading of the last column of the table of pairs, once the script of the page has run.
    click = "document.querySelectorAll('table.sortable th:last-child button')[0].click()"
    policy = page[page.index('<meta http-equiv="Content-Security-Policy"') :]
    loose = page.replace(policy[: policy.index(">") + 1], "")
    (drawn / "clicked.html").write_text(loose.replace("</body>", f"<script>{click}</script></body>"))
    after = tree(drawn / "clicked.html", tmp_path / "c")
    assert "XQ7OWNED" not in after.split("</title>")[0]
    assert 'aria-sort="descending"' in after
    body = after[after.index('aria-sort="descending"') :]
    body = body[body.index("<tbody>") : body.index("</tbody>")]
    values = [float(row.rsplit('data-v="', 1)[1].split('"')[0]) for row in body.split("</tr>")[:-1]]
    assert len(values) == 10 and values == sorted(values, reverse=True)
