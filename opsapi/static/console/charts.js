// Draws the charts of hosts with uPlot. The time range and the added metrics are in the URL of the page.
"use strict";

(() => {
  const root = document.querySelector("[data-charts]");
  if (!root || !window.uPlot) return;
  const EVERY_MS = 30_000;
  const GIVE_UP_MS = 20_000;
  const HEIGHT = root.dataset.query === undefined ? 150 : 240;
  const OLD_S = 180;
  const SECONDS = { ms: 0.001, s: 1, min: 60, h: 3600, d: 86_400 };
  const MOST_ROWS_OF_TABLE = 200;
  const SYNC = window.uPlot.sync("charts");
  // Colours that colour-blind people can tell apart (Okabe and Ito); further lines repeat them, dashed.
  const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#6b7280"];
  const DARK = ["#56b4e9", "#e69f00", "#2bbf94", "#e3a3c6", "#f0e442", "#8ec9f0", "#9ca3af"];
  const LIMIT = "#dc2626";
  const grid = root.querySelector("[data-charts-grid]");
  const state = root.querySelector("[data-charts-state]");
  const rowList = root.querySelector("[data-charts-rows]");
  const missing = root.querySelector("[data-charts-missing]");
  const hidden = new Set();
  // The page of an alert has a plot with a range and a metric of its own; the URL keeps neither.
  const own = root.dataset.query;
  let query = new URLSearchParams(own ?? location.search);
  const KEPT = ["m", "range", "since", "until", "only"];
  let data = null;
  let drawn = [];
  let timer = 0;
  let asked = 0;

  const isDark = () => document.documentElement.classList.contains("dark");
  const colourOf = (row) => (isDark() ? DARK : LIGHT)[row % LIGHT.length];
  const dashOf = (row) => (row < LIGHT.length ? [] : [6, 3]);
  const greys = () => (isDark() ? { text: "#9ca3af", grid: "rgba(156, 163, 175, 0.18)" } : { text: "#6b7280", grid: "rgba(107, 114, 128, 0.18)" });
  // That of `times.js`.
  const zone = () => document.documentElement.dataset.zone || "UTC";

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key in made && key !== "list") made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  // --- words ---

  function timeWords(seconds) {
    const shown = new Intl.DateTimeFormat("sv-SE", {
      timeZone: zone(), year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit",
    });
    return `${shown.format(new Date(seconds * 1000))} ${zone()}`;
  }

  // As `quantity_of` on the server, in the units of the chart: three digits, and times from a minute on in two units.
  function valueWords(value, units) {
    if (value === null || value === undefined) return "–";
    const seconds = value * SECONDS[units];
    if (seconds >= 60) return lengthWords(seconds);
    if (SECONDS[units] > 1) return valueWords(seconds, "s");
    return limitWords(Number(Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(3)), units);
  }

  // With all digits.
  function limitWords(value, units) {
    return `${value.toLocaleString("en-US", { maximumFractionDigits: 3 })} ${units}`.trim();
  }

  function lengthWords(length) {
    const seconds = Math.round(length);
    const [great, small] = seconds < 3600 ? ["min", "s"] : seconds < 86_400 ? ["h", "min"] : ["d", "h"];
    const rest = Math.floor((seconds % SECONDS[great]) / SECONDS[small]);
    return `${Math.floor(seconds / SECONDS[great]).toLocaleString("en-US")} ${great}${rest && seconds < 10 * SECONDS.d ? ` ${rest} ${small}` : ""}`;
  }

  // The newest value of a line, with its age if it is older than a few points of the chart.
  function latestWords(line, units) {
    if (!line.latest) return "–";
    const { at, value } = line.latest;
    const isOld = data.until - at > Math.max(OLD_S, 3 * (data.times[1] - data.times[0]));
    const minutes = Math.floor((Date.parse(data.read) / 1000 - at) / 60);
    return `${valueWords(value, units)}${isOld ? ` (${lengthWords(60 * minutes)} ago)` : ""}`;
  }

  function shortName(row) {
    const same = data.rows.every((one) => one.name.split(":")[1] === row.name.split(":")[1]);
    const name = same ? row.name.split(":")[0] : row.name;
    const isAddress = /^[\d.]+$|^\[/.test(name);
    return isAddress ? row.name : same ? name.split(".")[0] : row.name;
  }

  function say(text, isOld = false) {
    root.classList.toggle("charts-old", isOld);
    if (state.textContent !== text) state.textContent = text;
  }

  // --- the URL ---

  function goTo(change) {
    change(query);
    const text = query.toString();
    if (own === undefined) history.replaceState(null, "", text ? `?${text}` : location.pathname);
    read();
  }

  function setRange(since, until) {
    goTo((given) => {
      given.delete("range");
      given.set("since", new Date(since * 1000).toISOString().slice(0, 19) + "Z");
      given.set("until", new Date(until * 1000).toISOString().slice(0, 19) + "Z");
    });
  }

  function setNamed(name) {
    goTo((given) => {
      given.delete("since");
      given.delete("until");
      given.set("range", name);
    });
  }

  // --- reading ---

  async function read(isRefresh = false) {
    clearTimeout(timer);
    const turn = ++asked;
    const wanted = new URLSearchParams([...query].filter(([name]) => KEPT.includes(name)));
    if (isGrowing()) wanted.set("until", new Date().toISOString());
    try {
      const answer = await fetch(`${root.dataset.charts}?${wanted}`, {
        headers: { Accept: "application/json", ...(isRefresh ? { "X-Console-Refresh": "1" } : {}) },
        signal: AbortSignal.timeout(GIVE_UP_MS),
        redirect: "error",
      });
      if (turn !== asked) return;
      if (!answer.ok && answer.status !== 400) throw new Error(String(answer.status));
      const given = await answer.json();
      if (turn !== asked) return;
      if (answer.status === 400) {
        say(`${given.detail}.`, data !== null);
        return;
      }
      take(given);
    } catch (error) {
      if (turn !== asked) return;
      say(data ? `Connection lost. Showing data from ${timeWords(Date.parse(data.read) / 1000)}.` : "The charts cannot be loaded. The page tries again.", data !== null);
    }
    if (turn === asked && (data === null || data.range || isGrowing())) timer = setTimeout(wake, EVERY_MS);
  }

  // Whether the range is that of an alert that has not ended.
  function isGrowing() {
    return root.dataset.growing !== undefined && query.toString() === new URLSearchParams(own).toString();
  }

  function wake() {
    if (document.hidden || document.activeElement?.matches("[data-add]")) timer = setTimeout(wake, 2_000);
    else read(true);
  }

  function take(given) {
    const isSame = data && data.charts.map((one) => one.metric).join() === given.charts.map((one) => one.metric).join()
      && data.rows.map((row) => row.id).join() === given.rows.map((row) => row.id).join();
    data = given;
    const bucket = { PT1M: "1 minute", PT5M: "5 minutes", PT1H: "1 hour", P1D: "1 day" }[data.granularity];
    const range = `${timeWords(data.since)} to ${timeWords(data.until)}`;
    const stored = { RAW: "", PT5M: ", from rollups of 5 minutes", PT1H: ", from rollups of an hour" }[data.tier];
    say([`${range}, means of ${bucket}${stored}.`, ...data.leftOut].join(" "));
    for (const link of root.querySelectorAll("[data-range]")) {
      if (link.dataset.range === data.range) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    missing.textContent = data.missing.length ? `No measurements in this time: ${data.missing.join(", ")}.` : "";
    showRows();
    if (isSame && (data.range || isGrowing())) drawn.forEach((chart, place) => chart.update(data.charts[place]));
    else drawAll();
  }

  function showRows() {
    const fresh = data.rows.map((row, place) => {
      const line = element("span", { className: "charts-line", ariaHidden: "true" });
      line.style.borderTopColor = colourOf(place);
      line.style.borderTopStyle = dashOf(place).length ? "dashed" : "solid";
      const button = element("button", { type: "button", title: `${row.name}: ${row.type}, ${row.state}` }, line, `${shortName(row)}`);
      button.setAttribute("aria-pressed", String(!hidden.has(row.id)));
      button.addEventListener("click", () => {
        if (hidden.has(row.id)) hidden.delete(row.id);
        else hidden.add(row.id);
        button.setAttribute("aria-pressed", String(!hidden.has(row.id)));
        drawn.forEach((chart) => chart.show(place, !hidden.has(row.id)));
      });
      return element("li", {}, button);
    });
    if (data.rows.length > 1 && !rowList.contains(document.activeElement)) rowList.replaceChildren(...fresh);
  }

  // --- drawing ---

  function drawAll() {
    drawn.forEach((chart) => chart.plot.destroy());
    grid.replaceChildren();
    drawn = data.charts.map((chart) => new Chart(chart));
    if (!data.charts.length) grid.append(element("p", { className: "console-note", textContent: "No measurements in this time." }));
  }

  // Muted times are hatched, so that nobody needs to tell colours apart.
  function hatch(ctx) {
    const size = 8 * devicePixelRatio;
    const tile = new OffscreenCanvas(size, size);
    const pen = tile.getContext("2d");
    pen.strokeStyle = isDark() ? "rgba(86, 180, 233, 0.55)" : "rgba(0, 114, 178, 0.4)";
    pen.lineWidth = devicePixelRatio;
    for (const from of [-size, 0, size]) {
      pen.moveTo(from, size);
      pen.lineTo(from + size, 0);
    }
    pen.stroke();
    return ctx.createPattern(tile, "repeat");
  }

  class Chart {
    constructor(chart) {
      this.chart = chart;
      const isAdded = query.getAll("m").includes(chart.metric);
      this.now = element("p", { className: "chart-now", ariaHidden: "true" });
      this.place = element("div");
      this.notes = element("p", { className: "chart-notes console-note" });
      this.words = element("p", { className: "sr-only" });
      const title = element("h3", { textContent: chart.units ? `${chart.title}, ${chart.units}` : chart.title, title: `${chart.metric}: ${chart.meaning}` });
      const buttons = element("span");
      if (isAdded) {
        const remove = element("button", { type: "button", textContent: "Remove" });
        remove.addEventListener("click", () => goTo((given) => {
          const kept = given.getAll("m").filter((name) => name !== chart.metric);
          given.delete("m");
          kept.forEach((name) => given.append("m", name));
        }));
        buttons.append(remove);
      }
      const wide = element("button", { type: "button", textContent: "Enlarge" });
      wide.addEventListener("click", () => {
        const isWide = this.box.classList.toggle("chart-wide");
        wide.textContent = isWide ? "Shrink" : "Enlarge";
        this.fit();
      });
      buttons.append(" ", wide);
      const table = element("details", {}, element("summary", { className: "chart-notes", textContent: "Show as table" }));
      table.addEventListener("toggle", () => this.fillTable(table));
      this.table = table;
      this.box = element("section", { className: "chart", ariaLabel: chart.title }, element("div", { className: "chart-head" }, title, buttons), this.place, this.now, this.words, this.notes, table);
      grid.append(this.box);
      this.plot = new window.uPlot(this.options(), this.values(), this.place);
      this.describe();
      new ResizeObserver(() => this.fit()).observe(this.place);
    }

    fit() {
      const width = this.place.clientWidth;
      const height = this.box.classList.contains("chart-wide") ? 2 * HEIGHT : HEIGHT;
      if (width && (width !== this.plot.width || height !== this.plot.height)) this.plot.setSize({ width, height });
    }

    values() {
      return [data.times, ...this.chart.lines.map((line) => line.means)];
    }

    update(chart) {
      this.chart = chart;
      this.plot.setData(this.values(), false);
      this.plot.setScale("x", { min: data.since, max: data.until });
      this.describe();
      if (this.table.open) this.fillTable(this.table);
    }

    show(row, isShown) {
      this.plot.setSeries(row + 1, { show: isShown });
    }

    options() {
      const { text, grid: gridColour } = greys();
      const axis = { stroke: text, grid: { stroke: gridColour, width: 1 }, ticks: { stroke: gridColour, width: 1 }, font: `11px ${getComputedStyle(document.body).fontFamily}` };
      return {
        width: this.place.clientWidth || 320,
        height: HEIGHT,
        tzDate: (seconds) => window.uPlot.tzDate(new Date(seconds * 1000), zone() === "UTC" ? "Etc/UTC" : zone()),
        legend: { show: false },
        cursor: { sync: { key: SYNC.key }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
        scales: { x: { time: true, min: data.since, max: data.until, range: () => [data.since, data.until] }, y: { range: (_, low, high) => this.bounds(low, high) } },
        axes: [
          { ...axis, space: 60, values: [
            [3600 * 24 * 365, "{YYYY}", null, null, null, null, null, null, 1],
            [3600 * 24 * 28, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
            [3600 * 24, "{DD} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
            [60, "{HH}:{mm}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1],
            [1, "{HH}:{mm}:{ss}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1],
          ] },
          { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en-US", { notation: Math.abs(tick) >= 10_000 ? "compact" : "standard", maximumFractionDigits: 2 })) },
        ],
        series: [{}, ...this.chart.lines.map((_, row) => ({
          stroke: () => colourOf(row), gaps: (plot, _series, _first, _last, gaps) => this.longGaps(plot, row, gaps), width: this.widthOf(row), alpha: this.widthOf(row) < 1.5 ? 0.55 : 1, dash: dashOf(row), spanGaps: false, points: { show: this.isSparse() ? true : undefined, size: 4 },
          show: !hidden.has(data.rows[row].id),
        }))],
        hooks: {
          drawClear: [(plot) => this.shade(plot)],
          draw: [(plot) => this.mark(plot)],
          setCursor: [(plot) => this.tell(plot.cursor.idx)],
          setSelect: [(plot) => this.zoom(plot)],
        },
      };
    }

    // Samples may be further apart than the points of the chart: a gap is longer than the usual distance.
    longGaps(plot, row, gaps) {
      const places = this.chart.lines[row].means.flatMap((value, place) => (value === null ? [] : [place]));
      const distances = places.slice(1).map((place, at) => place - places[at]).sort((one, other) => one - other);
      const usual = distances[Math.floor(distances.length / 2)] ?? 1;
      const least = 2.5 * usual * (data.times[1] - data.times[0]);
      return gaps.filter(([from, to]) => plot.posToVal(to, "x", true) - plot.posToVal(from, "x", true) > least);
    }

    // The member that an alert is about is bold, the others are thin.
    widthOf(row) {
      const { main } = root.dataset;
      if (!main || data.rows.length === 1) return 1.5;
      return data.rows[row].id === main ? 2.5 : 1;
    }

    isSparse() {
      return data.times.length < 40;
    }

    // Thresholds are in sight unless they would flatten the lines. Extremes within buckets count.
    bounds(low, high) {
      let [least, most] = [low ?? 0, high ?? 1];
      for (const [row, line] of this.chart.lines.entries()) {
        if (hidden.has(data.rows[row].id)) continue;
        for (const value of line.maximums) if (value !== null && value > most) most = value;
        for (const value of line.minimums) if (value !== null && value < least) least = value;
      }
      for (const level of this.chart.levels) {
        if (level.value > most && level.value <= 3 * most) most = level.value;
        if (level.value < least) least = level.value;
      }
      least = Math.min(0, least);
      if (this.chart.units === "%" && most <= 100) return [least, 100];
      return most > least ? [least, most + (most - least) * 0.08] : [least, least + 1];
    }

    zoom(plot) {
      const { left, width } = plot.select;
      if (width < 8) return;
      const [since, until] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      const least = 300;
      const middle = (since + until) / 2;
      setRange(Math.floor(Math.min(since, middle - least / 2)), Math.ceil(Math.max(until, middle + least / 2)));
    }

    // Times with an alert, and the extremes within each bucket.
    shade(plot) {
      const { ctx, bbox } = plot;
      ctx.save();
      for (const span of data.spans) {
        if (span.metric && span.metric !== this.chart.metric) continue;
        if (span.row !== null && hidden.has(data.rows[span.row].id)) continue;
        const left = Math.max(plot.valToPos(span.since, "x", true), bbox.left);
        const right = Math.min(plot.valToPos(span.until, "x", true), bbox.left + bbox.width);
        if (right < bbox.left || left > bbox.left + bbox.width) continue;
        ctx.fillStyle = span.isMute ? hatch(ctx) : span.metric ? "rgba(220, 38, 38, 0.16)" : "rgba(220, 38, 38, 0.08)";
        ctx.fillRect(left, bbox.top, Math.max(right - left, 2), bbox.height);
      }
      for (const [row, line] of this.chart.lines.entries()) {
        if (hidden.has(data.rows[row].id)) continue;
        ctx.fillStyle = `${colourOf(row)}2e`;
        const step = bbox.width / Math.max(1, data.times.length - 1);
        for (const [place, low] of line.minimums.entries()) {
          const high = line.maximums[place];
          if (low === null || low === high) continue;
          const x = plot.valToPos(data.times[place], "x", true);
          const [top, bottom] = [plot.valToPos(high, "y", true), plot.valToPos(low, "y", true)];
          if (x >= bbox.left) ctx.fillRect(x - step / 2, top, Math.max(step, 1), Math.max(bottom - top, 1));
        }
      }
      ctx.restore();
    }

    // Thresholds since they exist, and moments of changes.
    mark(plot) {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.strokeStyle = LIMIT;
      ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      for (const level of this.chart.levels) {
        const y = plot.valToPos(level.value, "y", true);
        if (y < bbox.top || y > bbox.top + bbox.height) continue;
        const left = Math.max(plot.valToPos(level.since, "x", true), bbox.left);
        if (left >= bbox.left + bbox.width) continue;
        ctx.beginPath();
        ctx.moveTo(left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
      }
      ctx.setLineDash([]);
      ctx.fillStyle = greys().text;
      const size = 5 * devicePixelRatio;
      for (const mark of data.marks) {
        const x = plot.valToPos(mark.at, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x - size, bbox.top - size);
        ctx.lineTo(x + size, bbox.top - size);
        ctx.fill();
      }
      ctx.restore();
    }

    // The values at the cursor; without a cursor the latest.
    tell(place) {
      const at = place ?? null;
      const { units } = this.chart;
      const values = this.chart.lines.map((line, row) => [row, at === null ? latestWords(line, units) : valueWords(line.means[at], units)])
        .filter(([row]) => !hidden.has(data.rows[row].id));
      const near = at === null ? [] : data.marks.filter((mark) => Math.abs(mark.at - data.times[at]) <= (data.until - data.since) / 100);
      const alerts = at === null ? [] : data.spans.filter((span) => span.since <= data.times[at] && data.times[at] <= span.until && (!span.metric || span.metric === this.chart.metric));
      const parts = values.slice(0, 8).map(([row, words]) => {
        if (data.rows.length === 1) return element("span", { textContent: words });
        const name = element("span", { className: "chart-name", textContent: shortName(data.rows[row]) });
        name.style.borderBottomColor = colourOf(row);
        return element("span", {}, name, ` ${words}`);
      });
      const head = at === null ? "latest" : timeWords(data.times[at]);
      this.now.replaceChildren(element("span", { textContent: head }), ...parts, [...near.map((mark) => mark.label), ...alerts.map((span) => span.label)].slice(0, 3).join(" · "));
    }

    describe() {
      this.tell(null);
      const { title, units } = this.chart;
      this.words.textContent = `${title}. ${this.chart.lines.map((line, row) => {
        const known = line.means.filter((value) => value !== null);
        if (!known.length) return `${data.rows[row].name}: no measurements.`;
        return `${data.rows[row].name}: ${valueWords(Math.min(...known), units)} to ${valueWords(Math.max(...known), units)}, latest ${latestWords(line, units)}.`;
      }).join(" ")}`;
      const levels = this.chart.levels.map((level) => element(level.url ? "a" : "span", level.url ? { href: level.url, textContent: `${level.label} (${limitWords(level.value, units)})` } : { textContent: level.label }));
      this.notes.replaceChildren(...(levels.length ? ["Threshold: ", ...levels.flatMap((level, place) => (place ? [", ", level] : [level]))] : []));
    }

    fillTable(details) {
      details.querySelector(".chart-table")?.remove();
      if (!details.open) return;
      const { units } = this.chart;
      const head = element("tr", {}, element("th", { scope: "col", textContent: "Time" }), ...data.rows.map((row) => element("th", { scope: "col", textContent: shortName(row) })));
      const places = data.times.map((_, place) => place).filter((place) => this.chart.lines.some((line) => line.means[place] !== null)).reverse();
      const rows = places.slice(0, MOST_ROWS_OF_TABLE).map((place) => element("tr", {}, element("th", { scope: "row", textContent: timeWords(data.times[place]) }), ...this.chart.lines.map((line) => element("td", { textContent: valueWords(line.means[place], units) }))));
      const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
      const more = places.length > MOST_ROWS_OF_TABLE ? [element("p", { textContent: `The latest ${MOST_ROWS_OF_TABLE} of ${places.length} rows.` })] : [];
      details.append(element("div", { className: "chart-table", tabIndex: 0, role: "region", ariaLabel: `${this.chart.title}, as a table` }, table, ...more));
    }
  }

  // --- controls ---

  root.addEventListener("click", (event) => {
    const range = event.target.closest("[data-range]");
    const step = event.target.closest("[data-step]");
    if (range && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      setNamed(range.dataset.range);
    } else if (step && data) {
      const length = data.until - data.since;
      const since = data.since + Number(step.dataset.step) * (length / 2);
      if (since + length >= Date.now() / 1000) setNamed(nameOf(length));
      else setRange(Math.floor(since), Math.floor(since + length));
    }
  });

  // The named range with about this length; ranges that end now have names.
  function nameOf(length) {
    const names = [...root.querySelectorAll("[data-range]")].map((link) => link.dataset.range);
    const lengthOf = (name) => Number.parseInt(name, 10) * (name.endsWith("y") ? 365 * SECONDS.d : SECONDS[name.at(-1)]);
    return names.find((name) => lengthOf(name) >= length * 0.99) ?? names.at(-1);
  }

  root.querySelector("[data-reset]")?.addEventListener("click", () => {
    query = new URLSearchParams(own);
    read();
  });
  root.querySelector("[data-add]")?.addEventListener("change", (event) => {
    const metric = event.target.value;
    event.target.value = "";
    if (metric && !query.getAll("m").includes(metric)) goTo((given) => given.append("m", metric));
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && data?.range) read(true); });
  new MutationObserver(() => { if (data) { showRows(); drawAll(); } }).observe(document.documentElement, { attributeFilter: ["class"] });
  say("Loading …");
  read();
})();
