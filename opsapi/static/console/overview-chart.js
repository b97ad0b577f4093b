// Draws bars from the table below them, with the theme's Chart.js.
"use strict";

(() => {
  const page = document.querySelector(".overview-page");
  const drawn = new Map();

  function colour(name) {
    return getComputedStyle(page).getPropertyValue(name).trim();
  }

  function numbersOf(table) {
    const names = [...table.tHead.rows[0].cells].slice(1).map((one) => one.textContent);
    const rows = [...table.tBodies[0].rows];
    return {
      labels: rows.map((row) => row.cells[0].textContent),
      datasets: names.map((label, at) => ({
        label,
        data: rows.map((row) => Number(row.cells[at + 1].textContent)),
        backgroundColor: colour(`--overview-series-${at + 1}`),
      })),
    };
  }

  function looks(table) {
    const text = { color: colour("--overview-text") };
    const grid = { color: colour("--overview-grid") };
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      // A bar links to the same page as its hour in the table.
      onClick: (_, [bar]) => { if (bar) table.tBodies[0].rows[bar.index].querySelector("a")?.click(); },
      onHover: (_, bars, chart) => { chart.canvas.style.cursor = bars.length && table.tBodies[0].querySelector("a") ? "pointer" : ""; },
      plugins: { legend: { position: "bottom", labels: { ...text, boxWidth: 12, usePointStyle: true, pointStyle: "rect" } } },
      scales: {
        x: {
          stacked: true,
          title: { display: true, text: table.tHead.rows[0].cells[0].textContent, ...text },
          ticks: { ...text, maxRotation: 0, autoSkipPadding: 12 },
          grid: { display: false },
        },
        y: { stacked: true, beginAtZero: true, ticks: { ...text, precision: 0 }, grid, border: { display: false } },
      },
    };
  }

  function draw(place) {
    const table = document.getElementById(place.dataset.chartOf);
    place.hidden = !table;
    if (!table) return;
    const chart = drawn.get(place);
    if (!chart) {
      const made = { type: "bar", data: numbersOf(table), options: looks(table) };
      drawn.set(place, new Chart(place.querySelector("canvas"), made));
      return;
    }
    const fresh = numbersOf(table);
    chart.data.labels = fresh.labels;
    // Series that were hidden in the legend stay hidden.
    fresh.datasets.forEach((one, at) => Object.assign(chart.data.datasets[at], one));
    chart.options = looks(table);
    chart.update("none");
  }

  function drawAll() {
    page.querySelectorAll("[data-chart-of]").forEach(draw);
  }

  Chart.defaults.font.family = getComputedStyle(page).fontFamily;
  page.addEventListener("live:read", drawAll);
  document.fonts.ready.then(drawAll);
  // The theme's switch for light and dark changes a class of the document.
  new MutationObserver(drawAll).observe(document.documentElement, { attributeFilter: ["class"] });
  drawAll();
})();
