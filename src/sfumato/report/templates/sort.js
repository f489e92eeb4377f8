"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows];
      const value = (row) => row.cells[place].dataset.v;
      const numeric = rows.some((row) => value(row) !== undefined);
      rows.sort((one, other) => {
        if (!numeric) return one.cells[place].textContent.localeCompare(other.cells[place].textContent);
        const a = value(one), b = value(other);
        if (a === undefined || b === undefined) return (a === undefined) - (b === undefined) || 0;
        return a - b;
      });
      if (!up) rows.reverse();
      body.append(...rows);
    });
  });
}
