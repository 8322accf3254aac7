"use strict";
(() => {
  const data = JSON.parse(document.getElementById("views-data").textContent);
  const byId = (id) => document.getElementById(id);
  const prompt = [...document.querySelectorAll("#prompt-heat [data-place]")];
  const response = [...document.querySelectorAll("#response-heat .said")];
  const popup = byId("popup");
  const status = byId("status");
  const classes = { lean: {}, depth: {} };
  "1234".split("").forEach((n, i) => { classes.lean[n] = "up" + n; classes.lean["abcd"[i]] = "down" + n; });
  "0123456".split("").forEach((n) => { classes.depth[n] = "s" + n; });
  const all = [...Object.values(classes.lean), ...Object.values(classes.depth)];
  let view = data.view;
  let column = null;
  let pinned = false;
  let shown = null;
  let timer = 0;

  const paint = (element, scale, code) => {
    element.classList.remove(...all);
    const name = classes[scale][code];
    if (name) element.classList.add(name);
  };
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  /* What colours the prompt: a view, or one token of the response. */
  const refresh = () => {
    const scale = column === null && data.deep.includes(view) ? "depth" : "lean";
    const codes = column !== null ? data.columns[column] : data.views[view];
    prompt.forEach((token) => paint(token, scale, codes[token.dataset.place]));
    document.querySelector(".legend.lean").hidden = scale !== "lean";
    document.querySelectorAll(".legend.depth").forEach((legend) => { legend.hidden = scale !== "depth"; });
    document.querySelectorAll("[data-view]").forEach((button) =>
      button.setAttribute("aria-pressed", String(column === null && button.dataset.view === view)));
    response.forEach((token, t) => token.setAttribute("aria-pressed", String(t === column)));
    status.textContent = column === null ? data.says[view]
      : "Coloured by what each token did for " + response[column].dataset.name + " alone. Choose it again, or a button, to go back.";
  };
  const choose = (t) => { column = column === t ? null : t; refresh(); };

  /* The numbers of one token, taken from the tables of the page. */
  const fill = (place) => {
    popup.replaceChildren();
    const row = byId("n" + place);
    const head = make("p", "", "head");
    head.append(row.querySelector("th code").cloneNode(true));
    const where = row.cells[0].textContent;
    head.append(make("span", (/[-,]/.test(where) ? "positions " : "position ") + where, "unit"));
    const close = make("button", "×");
    close.type = "button";
    close.setAttribute("aria-label", "Close");
    close.addEventListener("click", hide);
    head.append(close);
    const list = make("dl");
    [...row.closest("table").tHead.rows[0].cells].forEach((cell, i) => {
      if (!("brief" in cell.dataset)) return;
      const term = make("dt");
      const unit = cell.querySelector("small");
      term.textContent = cell.dataset.label + (unit ? ", " + unit.textContent : "");
      const value = make("dd");
      value.append(...[...row.cells[i].childNodes].map((node) => node.cloneNode(true)));
      list.append(term, value);
    });
    popup.append(head, list);
    data.lists.forEach(([title, ...heads], i) => {
      popup.append(make("p", title, "what"));
      const own = byId("s" + place).cells[i + 2].querySelector("ol").cloneNode(true);
      const top = make("li", "", "top");
      heads.forEach((name) => top.append(make("span", name)));
      top.firstChild.style.textAlign = "left";
      own.prepend(top);
      popup.append(own);
    });
  };
  const set = (token) => {
    prompt.forEach((other) => other.classList.toggle("on", other.dataset.place === token.dataset.place));
    shown = token;
    const place = token.dataset.place;
    fill(place);
    popup.hidden = false;
    popup.scrollTop = 0;
    const rect = token.getClientRects()[0];
    popup.style.maxHeight = "none";
    const under = innerHeight - rect.bottom - 14;
    const over = rect.top - 14;
    const below = popup.offsetHeight <= under || under >= over;
    const height = Math.min(popup.offsetHeight, Math.max(160, below ? under : over));
    popup.style.maxHeight = height + "px";
    const width = document.documentElement.clientWidth;
    popup.style.left = Math.max(8, Math.min(rect.left, width - popup.offsetWidth - 8)) + scrollX + "px";
    popup.style.top = (below ? rect.bottom + 6 : rect.top - height - 6) + scrollY + "px";
    response.forEach((said, t) => paint(said, "lean", data.columns[t][place]));
  };
  const hide = () => {
    clearTimeout(timer);
    pinned = false;
    popup.hidden = true;
    prompt.forEach((token) => token.classList.remove("on"));
    shown = null;
    response.forEach((said) => paint(said, "lean", "0"));
  };
  const keep = (token) => {
    if (pinned && shown === token) { hide(); return; }
    set(token);
    pinned = true;
    uncover(token);
  };
  const uncover = (token) => {
    const hidden = token.getBoundingClientRect().bottom + 12 - popup.getBoundingClientRect().top;
    if (getComputedStyle(popup).position === "fixed" && hidden > 0) scrollBy(0, hidden);
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(() => { if (!pinned) hide(); }, 150); };

  /* One stop of the tab key for each text; arrow keys inside it. */
  const onLine = (tokens, at, step) => {
    const from = tokens[at].getBoundingClientRect();
    let best = at;
    let bestGap = Infinity;
    let line = null;
    for (let i = at + step; i >= 0 && i < tokens.length; i += step) {
      const rect = tokens[i].getBoundingClientRect();
      if (Math.abs(rect.top - from.top) < 4) continue;
      if (line !== null && Math.abs(rect.top - line) >= 4) break;
      line = rect.top;
      const gap = Math.abs(rect.left - from.left);
      if (gap < bestGap) { best = i; bestGap = gap; }
    }
    return best;
  };
  const roam = (tokens, enter) => tokens.forEach((token, i) => {
    token.tabIndex = i ? -1 : 0;
    token.setAttribute("role", "button");
    token.setAttribute("aria-label", token.title);
    token.removeAttribute("title");
    token.addEventListener("keydown", (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tokens.length - 1 }[event.key]
        ?? (event.key === "ArrowDown" ? onLine(tokens, i, 1) : event.key === "ArrowUp" ? onLine(tokens, i, -1) : null);
      if (to !== null && tokens[to]) {
        event.preventDefault();
        token.tabIndex = -1;
        tokens[to].tabIndex = 0;
        tokens[to].focus();
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        enter(token, i);
      }
    });
  });
  roam(prompt, keep);
  roam(response, (token, t) => choose(t));
  prompt.forEach((token) => {
    token.setAttribute("aria-controls", "popup");
    token.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "mouse" || pinned) return;
      clearTimeout(timer);
      set(token);
    });
    token.addEventListener("pointerleave", later);
    token.addEventListener("focus", () => {
      clearTimeout(timer);
      if (!pinned || shown !== token) set(token);
      uncover(token);
    });
    token.addEventListener("blur", later);
    /* Not on click: by then the card may lie under the finger, and the token gets none. */
    token.addEventListener("pointerup", () => keep(token));
    token.addEventListener("click", (event) => { if (!event.detail) keep(token); });
  });
  response.forEach((token, t) => token.addEventListener("click", () => choose(t)));
  popup.addEventListener("pointerenter", () => clearTimeout(timer));
  popup.addEventListener("pointerleave", later);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("pointerdown", (event) => {
    if (pinned && !popup.contains(event.target) && !event.target.closest("#prompt-heat [data-place]")) hide();
  });
  document.querySelectorAll("[data-view]").forEach((button) => button.addEventListener("click", () => {
    view = button.dataset.view;
    column = null;
    refresh();
  }));

  /* Tables: sorted by a click on a head, and a page at a time. */
  const SIZE = 100;
  const number = (cell) => {
    const text = cell.firstChild ? cell.firstChild.textContent.replace("−", "-").replace(/,/g, "").replace("∞", "Infinity") : "";
    const value = parseFloat(text);
    const power = text.match(/10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/);
    const digits = power && [...power[1]].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c)).map((d) => d ? d - 1 : "-").join("");
    return value * (power ? 10 ** digits : /%/.test(text) ? 0.01 : 1);
  };
  document.querySelectorAll("table[data-pages]").forEach((table) => {
    const body = table.tBodies[0];
    let rows = [...body.rows];
    let page = 0;
    const turn = () => {
      rows.forEach((row, i) => { row.hidden = Math.floor(i / SIZE) !== page; });
      if (!bar) return;
      bar.children[1].textContent = "rows " + (page * SIZE + 1) + " to " + Math.min(rows.length, (page + 1) * SIZE) + " of " + rows.length.toLocaleString("en");
      bar.children[0].disabled = page === 0;
      bar.children[2].disabled = (page + 1) * SIZE >= rows.length;
    };
    let bar = null;
    if (rows.length > SIZE) {
      bar = make("div", "", "pager");
      [["Before", -1], ["", 0], ["Next", 1]].forEach(([name, step]) => {
        const part = make(name ? "button" : "span", name);
        if (name) { part.type = "button"; part.addEventListener("click", () => { page += step; turn(); }); }
        bar.append(part);
      });
      table.parentElement.before(bar);
      turn();
    }
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      const label = head.firstChild.textContent;
      head.dataset.label = label;
      if (!("sort" in table.dataset)) return;
      const button = make("button", label);
      button.type = "button";
      head.replaceChild(button, head.firstChild);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending" && i > 1 || head.getAttribute("aria-sort") === "ascending";
        [...table.tHead.rows[0].cells].forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const keys = new Map(rows.map((row) => [row, number(row.cells[i])]));
        const words = rows.some((row) => Number.isNaN(keys.get(row)));
        rows.sort((a, b) => (down ? -1 : 1) * (words
          ? a.cells[i].textContent.localeCompare(b.cells[i].textContent) : keys.get(a) - keys.get(b) || 0));
        body.append(...rows);
        page = 0;
        turn();
      });
    });
  });
  document.querySelectorAll(".scripted, #views-bar").forEach((element) => { element.hidden = false; });
  refresh();
})();
