// Draws the measurements in the page's JSON. Without script, the page describes them in words.
"use strict";

(() => {
  const canvas = document.getElementById("plot");
  const data = document.getElementById("plot-data");
  if (!canvas || !data || !window.Chart) {
    return;
  }
  const plot = JSON.parse(data.textContent);
  const LINE = "#2f8fd0";
  const LIMIT = "#dc2626";
  const SHADE = "rgba(220, 38, 38, 0.25)";
  const GREY = "#8a94a3";
  const MINUTE = 60 * 1000;
  const DAY = 24 * 60 * MINUTE;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((minutes) => minutes * MINUTE);
  const TICKS = canvas.clientWidth < 500 ? 4 : 8;

  // Times in the zone of the page; with the day if there are several days.
  const zone = document.documentElement.dataset.zone || "UTC";
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  const clock = (moment, whole) => {
    const text = format.format(moment);
    const time = whole ? text.slice(11, 19) : text.slice(11, 16);
    return whole || plot.until - plot.since > DAY ? `${text.slice(5, 10)} ${time}` : time;
  };
  const number = (value) => `${value.toLocaleString("en-US")} ${plot.units}`.trim();

  // Ticks at whole minutes, hours and days instead of round numbers of milliseconds.
  const ticksOf = () => {
    const length = plot.until - plot.since;
    const step = STEPS.find((one) => length / one <= TICKS) ?? STEPS[STEPS.length - 1];
    const ticks = [];
    for (let at = Math.ceil(plot.since / step) * step; at <= plot.until; at += step) {
      ticks.push({ value: at });
    }
    return ticks;
  };

  // In the font of the page.
  window.Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;

  // A sample of a line for the legend, dashed as in the plot.
  const sample = (color, dash) => {
    const drawn = document.createElement("canvas");
    [drawn.width, drawn.height] = [28, 8];
    const pen = drawn.getContext("2d");
    pen.strokeStyle = color;
    pen.lineWidth = 2;
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(0, 4);
    pen.lineTo(28, 4);
    pen.stroke();
    return drawn;
  };
  const legend = (chart) =>
    window.Chart.defaults.plugins.legend.labels
      .generateLabels(chart)
      .map((label, place) => ({ ...label, pointStyle: sample(datasets[place].borderColor, datasets[place].borderDash ?? []) }));

  const datasets = [
    {
      label: plot.label,
      data: plot.points.map(([x, y]) => ({ x, y })),
      borderColor: LINE,
      backgroundColor: LINE,
      borderWidth: 2,
      pointRadius: plot.points.length < 60 ? 2 : 0,
    },
  ];
  if (plot.threshold !== null) {
    datasets.push({
      label: "threshold",
      data: [plot.since, plot.until].map((x) => ({ x, y: plot.threshold })),
      borderColor: LIMIT,
      backgroundColor: LIMIT,
      borderDash: [6, 4],
      borderWidth: 2,
      pointRadius: 0,
    });
  }

  // Shades spans of time behind the line, at least a pixel wide.
  const spans = {
    id: "spans",
    beforeDatasetsDraw: ({ ctx, chartArea, scales }) => {
      ctx.save();
      ctx.fillStyle = SHADE;
      for (const [since, until] of plot.spans) {
        const left = scales.x.getPixelForValue(Math.max(since, plot.since));
        const right = scales.x.getPixelForValue(Math.min(until, plot.until));
        ctx.fillRect(left, chartArea.top, Math.max(right - left, 2), chartArea.bottom - chartArea.top);
      }
      ctx.restore();
    },
  };

  // The time without measurements after the last sample, if it is longer than a few samples apart.
  const nothing = {
    id: "nothing",
    beforeDatasetsDraw: ({ ctx, chartArea, scales }) => {
      const times = plot.points.map(([moment]) => moment);
      const last = times[times.length - 1];
      const steps = times.slice(1).map((moment, place) => moment - times[place]).sort((a, b) => a - b);
      const usual = steps.length ? steps[Math.floor(steps.length / 2)] : 5 * MINUTE;
      const left = scales.x.getPixelForValue(last);
      if (last === undefined || plot.until - last < 3 * usual || chartArea.right - left < 8) {
        return;
      }
      ctx.save();
      ctx.fillStyle = "rgba(138, 148, 163, 0.15)";
      ctx.fillRect(left, chartArea.top, chartArea.right - left, chartArea.bottom - chartArea.top);
      if (chartArea.right - left > 50) {
        ctx.fillStyle = GREY;
        ctx.textAlign = "center";
        ctx.fillText("no data", (left + chartArea.right) / 2, (chartArea.top + chartArea.bottom) / 2);
      }
      ctx.restore();
    },
  };

  // Vertical lines at the beginning and the end, with labels.
  const marks = {
    id: "marks",
    afterDatasetsDraw: ({ ctx, chartArea, scales }) => {
      for (const [moment, words] of [[plot.began, "began"], [plot.ended, "ended"]]) {
        if (moment === null || moment < plot.since || moment > plot.until) {
          continue;
        }
        const x = scales.x.getPixelForValue(moment);
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = GREY;
        ctx.setLineDash([3, 3]);
        ctx.beginPath();
        ctx.moveTo(x, chartArea.top);
        ctx.lineTo(x, chartArea.bottom);
        ctx.stroke();
        const isRight = x > (chartArea.left + chartArea.right) / 2;
        ctx.textAlign = isRight ? "right" : "left";
        ctx.fillText(words, isRight ? x - 4 : x + 4, chartArea.top + 10);
        ctx.restore();
      }
    },
  };

  const axis = { ticks: { color: GREY }, grid: { color: "rgba(138, 148, 163, 0.2)" } };
  window.Chart.defaults.font.family = getComputedStyle(canvas).fontFamily;
  const chart = new window.Chart(canvas, {
    type: "line",
    data: { datasets },
    plugins: [spans, nothing, marks],
    options: {
      animation: false,
      maintainAspectRatio: false,
      parsing: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      plugins: {
        legend: { labels: { color: GREY, usePointStyle: true, pointStyleWidth: 32, padding: 16, generateLabels: legend } },
        tooltip: {
          callbacks: {
            title: (items) => (items.length ? clock(items[0].parsed.x, true) : ""),
            label: (item) => `${item.dataset.label}: ${number(item.parsed.y)}`,
          },
        },
      },
      scales: {
        x: {
          ...axis,
          type: "linear",
          min: plot.since,
          max: plot.until,
          afterBuildTicks: (scale) => {
            scale.ticks = ticksOf();
          },
          ticks: { ...axis.ticks, maxRotation: 0, callback: (value) => clock(value) },
          title: { display: true, text: zone, color: GREY },
        },
        y: {
          ...axis,
          beginAtZero: true,
          // The scale of a percentage goes to 100; only sums over several cores exceed it.
          ...(plot.units === "%" ? { suggestedMax: 100 } : { grace: "5%" }),
          title: { display: true, text: plot.units === "" ? "count" : plot.units, color: GREY },
        },
      },
    },
  });
  // Text in a canvas does not change when its font arrives.
  document.fonts.ready.then(() => chart.update("none"));
})();
