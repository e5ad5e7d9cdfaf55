"use strict";
(() => {
  const GAPS = new Set(["", "–", "NA"]);
  const say = (text) => { document.getElementById("said").textContent = text; };

  // What a cell is sorted by: its number, else its text; gaps come last in either direction.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const text = (cell.dataset.key ?? cell.textContent).trim();
    if (GAPS.has(text)) return null;
    const number = Number(text.replace("−", "-").replace(/[,%]/g, ""));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1;
    if (typeof b === "number") return 1;
    return a < b ? -1 : a > b ? 1 : 0;
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const next = before === "none" ? "ascending" : before === "ascending" ? "descending" : "none";
        for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", next);
        let rows = original;
        if (next !== "none") {
          const sign = next === "ascending" ? 1 : -1;
          rows = original.map((row) => [keyOf(row, column), row]).sort(([a], [b]) => {
            if (a === null || b === null) return (a === null) - (b === null);
            return sign * compare(a, b);
          }).map(([, row]) => row);
        }
        // The line between two groups of rows means nothing in another order.
        for (const row of original) if (row.dataset.rule || row.classList.contains("rule")) {
          row.dataset.rule = "yes";
          row.classList.toggle("rule", next === "none");
        }
        body.append(...rows);
        say(next === "none" ? "first order" : `sorted by ${button.textContent}, ${next}`);
      });
    });
  }

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Pages opened from disk are refused the clipboard in some browsers; the older way needs a selection.
      const area = document.createElement("textarea");
      area.value = text;
      area.setAttribute("readonly", "");
      area.className = "hidden";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const code = button.parentElement.querySelector("code");
    const done = await copy(code.textContent);
    if (!done) getSelection().selectAllChildren(code);
    button.textContent = done ? "copied" : "selected";
    say(done ? "copied" : "selected: press Ctrl+C to copy");
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });

  const absent = document.getElementById("show-absent");
  absent?.addEventListener("change", () => document.body.classList.toggle("with-absent", absent.checked));

  const filter = document.getElementById("filter");
  filter?.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...document.getElementById("cell-table").tBodies[0].rows];
    let shown = 0;
    for (const row of rows) {
      row.filterText ??= [...row.cells].slice(0, 6).map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => row.filterText.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    document.getElementById("filtered").textContent = words.length ? `${shown} of ${rows.length} cells` : `${rows.length} cells`;
  });

  // What is wider than its place fades at the edge, and says below that there is more to see.
  const cue = (place) => {
    const left = place.scrollWidth - place.clientWidth - place.scrollLeft;
    place.classList.toggle("scrolls", place.scrollWidth > place.clientWidth + 1);
    place.classList.toggle("more", left > 1);
  };
  const watched = new ResizeObserver((entries) => { for (const entry of entries) cue(entry.target); });
  for (const place of document.querySelectorAll(".scroll")) {
    const told = document.createElement("p");
    told.className = "sideways";
    told.ariaHidden = "true";
    told.textContent = "↔ scroll sideways for the other columns";
    place.after(told);
    place.addEventListener("scroll", () => cue(place), { passive: true });
    watched.observe(place);
  }

  // A link into a closed part opens it; on paper everything is open but the commands of single cells.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const closed = target && target.closest("details");
    if (closed && !closed.open) { closed.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.part:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
