"use strict";
// The form of a rule: draws the last days of its metric with uPlot, lets the threshold be dragged, and tries the
// rule whenever its input has settled. The inputs stay the source: dragging writes the number into its input.
(() => {
  const form = document.querySelector("[data-config-form]")?.closest("form");
  const box = form?.querySelector("[data-rule-plot]");
  if (!box) return;

  const SETTLED_MS = 900;
  const GIVE_UP_MS = 20_000;
  const HEIGHT = 220;
  const DIGITS = 3;
  const THIN = { light: "rgba(107, 114, 128, 0.45)", dark: "rgba(156, 163, 175, 0.4)" };
  const BOLD = { light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b"], dark: ["#56b4e9", "#e69f00", "#2bbf94", "#e3a3c6", "#f0e442"] };
  const place = box.querySelector("[data-plot]");
  const words = box.querySelector("[data-plot-words]");
  const live = form.querySelector("[data-live-trial]");
  const named = (name) => form.querySelector(`[name="${name}"]`);
  const metric = named("metricThreshold.metricName");
  const operator = named("metricThreshold.operator");
  const number = named("metricThreshold.threshold");
  const units = named("metricThreshold.units");
  const look = () => (document.documentElement.classList.contains("dark") ? "dark" : "light");
  const zone = () => document.documentElement.dataset.zone || "UTC";

  let data = null;
  let plot = null;
  let alerting = null;
  let asked = "";
  let turn = 0;
  let trial = null;
  let trying = false;
  let again = false;
  let timer = 0;

  const groupOf = () => box.dataset.group || (named("group")?.value ?? "");
  const isAbove = () => operator.value !== "LESS_THAN";
  const factor = () => data?.chart?.factors[units.value] ?? 1;
  const threshold = () => (number.value.trim() === "" || Number.isNaN(Number(number.value)) ? null : Number(number.value) * factor());

  // --- the lines ---

  async function readLines(first = []) {
    const group = groupOf();
    const isPlotted = !metric.disabled && metric.value && group && group !== "global";
    box.hidden = !isPlotted;
    const wanted = isPlotted ? new URLSearchParams([["group", group], ["metric", metric.value], ...first.map((id) => ["host", id])]).toString() : "";
    if (wanted === asked) return;
    asked = wanted;
    const mine = ++turn;
    if (!isPlotted) return;
    alerting = first.length ? first : null;
    words.textContent = "Loading the last 7 days …";
    try {
      const answer = await fetch(`${box.dataset.rulePlot}?${wanted}`, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(GIVE_UP_MS), redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      const given = await answer.json();
      if (mine !== turn) return;
      data = given;
      draw();
    } catch {
      if (mine !== turn) return;
      asked = "";
      words.textContent = "The measurements cannot be loaded. Change an input to try again.";
    }
  }

  const extremes = (line) => (isAbove() ? line.maximums : line.minimums);
  const isOutside = (value, limit) => value !== null && (isAbove() ? value > limit : value < limit);

  // After a dry run, the hosts that would have alerted; until then, those with a value outside the threshold.
  function boldRows() {
    const limit = threshold();
    return data.rows.map((row, index) => {
      if (alerting) return alerting.includes(row.id);
      return limit !== null && extremes(data.chart.lines[index]).some((value) => isOutside(value, limit));
    });
  }

  function draw() {
    plot?.destroy();
    plot = null;
    if (!data.chart) {
      words.textContent = "No measurements of this metric in the last 7 days.";
      return;
    }
    plot = new window.uPlot(options(), [data.times, ...data.chart.lines.map(extremes)], place);
    const strip = document.createElement("div");
    strip.className = "rule-threshold";
    strip.setAttribute("aria-hidden", "true");
    plot.over.append(strip);
    hold(strip);
  }

  function options() {
    const text = look() === "dark" ? "#9ca3af" : "#6b7280";
    const grid = "rgba(128, 128, 128, 0.18)";
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: `11px ${getComputedStyle(document.body).fontFamily}` };
    const bold = boldRows();
    const colours = BOLD[look()];
    return {
      width: place.clientWidth || 320,
      height: HEIGHT,
      tzDate: (seconds) => window.uPlot.tzDate(new Date(seconds * 1000), zone() === "UTC" ? "Etc/UTC" : zone()),
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: true, range: () => [data.since, data.until] }, y: { range: (_, low, high) => bounds(low, high) } },
      axes: [
        { ...axis, space: 70, values: [[3600 * 24, "{DD} {MMM}", null, null, null, null, null, null, 1], [60, "{HH}:{mm}", "\n{DD} {MMM}", null, "\n{DD} {MMM}", null, null, null, 1]] },
        { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en-US", { notation: Math.abs(tick) >= 10_000 ? "compact" : "standard", maximumFractionDigits: 2 })) },
      ],
      // Positions are known from the first drawing on.
      hooks: { draw: [refreshThreshold] },
      series: [{}, ...bold.map((isBold, index) => ({ stroke: isBold ? colours[index % colours.length] : THIN[look()], width: isBold ? 2.5 : 1, points: { show: false } }))],
    };
  }

  function bounds(low, high) {
    let [least, most] = [Math.min(0, low ?? 0), high ?? 1];
    const limit = threshold();
    if (limit !== null && limit > most && limit <= 4 * Math.max(most, Number.EPSILON)) most = limit;
    if (limit !== null && limit < least) least = limit;
    if (data.chart.units === "%" && most <= 100) return [least, 100];
    return most > least ? [least, most + (most - least) * 0.12] : [least, least + 1];
  }

  function refreshThreshold() {
    if (!plot) return;
    const strip = plot.over.querySelector(".rule-threshold");
    const limit = threshold();
    const y = limit === null ? null : plot.valToPos(limit, "y");
    const isInSight = y !== null && y >= 0 && y <= plot.over.clientHeight;
    strip.hidden = !isInSight;
    if (isInSight) {
      strip.style.top = `${y}px`;
      const unit = units.parentElement.hidden ? data.chart.units : units.selectedOptions[0].text;
      strip.dataset.value = `${number.value} ${unit}`.trim();
    }
    describe(limit, isInSight);
  }

  function describe(limit, isInSight) {
    const bold = boldRows();
    const names = data.rows.filter((_, index) => bold[index]).map((row) => row.name);
    const hosts = `${data.rows.length} ${data.rows.length === 1 ? "host" : "hosts"}`;
    const side = isAbove() ? "highest" : "lowest";
    const bucket = { PT1M: "minute", PT5M: "5 minutes", PT1H: "hour", P1D: "day" }[data.granularity];
    const crossed = alerting ? "would have alerted" : isAbove() ? "went above the threshold" : "went below the threshold";
    const who = names.length ? `${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""} ${crossed}.` : limit === null ? "" : `No host ${crossed}.`;
    const hint = limit === null ? "Enter a threshold." : isInSight ? "Drag the dashed line to change the threshold." : "The threshold is far outside these values.";
    words.textContent = [`Last 7 days, ${hosts} of the project: the ${side} value of each ${bucket}.`, data.leftOut, who, hint].filter(Boolean).join(" ");
  }

  function restyle() {
    if (!plot) return;
    draw();
  }

  // --- dragging ---

  function hold(strip) {
    let isHeld = false;
    strip.addEventListener("pointerdown", (event) => {
      isHeld = true;
      strip.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    strip.addEventListener("pointermove", (event) => {
      if (!isHeld) return;
      const top = plot.over.getBoundingClientRect().top;
      const y = Math.min(Math.max(event.clientY - top, 0), plot.over.clientHeight);
      number.value = rounded(plot.posToVal(y, "y") / factor());
      alerting = null;
      refreshThreshold();
    });
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      number.dispatchEvent(new Event("input", { bubbles: true }));
    };
    strip.addEventListener("pointerup", release);
    strip.addEventListener("pointercancel", release);
  }

  const rounded = (value) => String(Number(value.toPrecision(DIGITS)));

  // --- the dry run ---

  function settle() {
    clearTimeout(timer);
    timer = setTimeout(tryIt, SETTLED_MS);
  }

  // One dry run at a time: the server refuses dry runs of a project that run next to others.
  async function tryIt() {
    again = trying;
    if (trying || !live || !form.querySelector('[name="eventTypeName"]').value || !(box.dataset.group || groupOf()) || groupOf() === "global") return;
    trying = true;
    trial = new AbortController();
    const signal = AbortSignal.any([trial.signal, AbortSignal.timeout(GIVE_UP_MS)]);
    const typed = new URLSearchParams(new FormData(form));
    typed.set("try", "yes");
    live.hidden = false;
    live.classList.add("rule-old");
    try {
      const answer = await fetch(location.href, { method: "POST", body: typed, signal, redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!again) show(page);
    } catch {
      if (!again && !trial.signal.aborted) say("The rule cannot be tried now. Change an input to try again.");
    } finally {
      trying = false;
      live.classList.remove("rule-old");
      if (again) tryIt();
    }
  }

  function say(text) {
    const line = document.createElement("p");
    line.className = "console-note";
    line.textContent = text;
    live.replaceChildren(line);
  }

  function show(page) {
    const sentence = page.querySelector("[data-trial-result] .config-trial-sentence");
    if (!sentence) {
      const refused = page.querySelector("[data-trial-refused]");
      alerting = null;
      say(refused ? refused.textContent : "Once the form is complete, this says how often the rule would have alerted.");
      restyle();
      return;
    }
    const result = page.querySelector("[data-trial-result]");
    const kept = [...result.children].filter((child) => child.matches("p:not(.console-note), ul"));
    live.replaceChildren(...kept.map((child) => document.importNode(child, true)));
    live.classList.add("config-trial");
    const hosts = JSON.parse(page.getElementById("trial-hosts")?.textContent ?? "[]");
    form.querySelector("[data-trial] > [data-trial-result]")?.remove();
    offerUse(live);
    alerting = hosts;
    if (data && hosts.some((id) => !data.rows.some((row) => row.id === id))) readLines(hosts.slice(0, 50));
    else restyle();
  }

  function offerUse(within) {
    for (const button of within.querySelectorAll("[data-use-threshold]")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        number.value = button.dataset.useThreshold;
        units.value = button.dataset.useUnits;
        number.dispatchEvent(new Event("input", { bubbles: true }));
        number.focus();
      });
    }
  }

  // --- events ---

  form.addEventListener("input", (event) => {
    if ([number, operator, units].includes(event.target)) {
      alerting = null;
      refreshThreshold();
    }
    settle();
  });
  form.addEventListener("change", () => {
    readLines();
    if (plot) restyle();
    settle();
  });
  new ResizeObserver(() => {
    if (plot && place.clientWidth && place.clientWidth !== plot.width) {
      plot.setSize({ width: place.clientWidth, height: HEIGHT });
      refreshThreshold();
    }
  }).observe(place);
  new MutationObserver(restyle).observe(document.documentElement, { attributeFilter: ["class"] });
  form.addEventListener("submit", () => {
    clearTimeout(timer);
    again = false;
    trial?.abort();
  });
  window.addEventListener("pageshow", () => {
    readLines();
    settle();
  });
  offerUse(form);
})();
