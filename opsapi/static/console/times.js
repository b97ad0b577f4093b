// The one place that shows times in a zone. The server writes UTC, as in 2026-11-29 09:33:25Z; this shows it in the
// zone of the account, which the menu behind the name changes, by default the browser's, with UTC as a tooltip. A cookie
// names the zone of the browser, in which the server reads the times that the operator types.
// JSON and code stay in UTC, and say so. The server writes what is in fields and on axes in the zone of the account.
// Charts read the zone from the document.
"use strict";

(() => {
  const COOKIE = "consoleZone";
  // A time, or the span of a maintenance window.
  const TIME = /\b(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?)(?:Z| to (?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d) UTC)/g;
  const LEFT_ALONE = "pre, code, script, style, textarea, option, canvas, svg, [contenteditable]";
  const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const choice = document.getElementById("zone");
  const format = formatOf(choice?.dataset.chosen || browserZone) ?? formatOf(browserZone);

  document.documentElement.dataset.zone = format.resolvedOptions().timeZone;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${COOKIE}=${browserZone}; Path=/admin/; Max-Age=31536000; SameSite=Lax${secure}`;

  // Null for a zone that this browser does not know.
  function formatOf(timeZone) {
    try {
      return new Intl.DateTimeFormat("en-GB", {
        timeZone, hourCycle: "h23", timeZoneName: "longOffset",
        year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
      });
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    }
  }

  // "2026-11-29 10:33:25 +01:00"; as long as the time in UTC was, with or without seconds; or a span of such times.
  function local(utc, day, clock, lastDay, lastClock) {
    if (lastClock) return `${local(utc, day, clock)} to ${local(utc, lastDay ?? day, lastClock)}`;
    const moment = new Date(`${day}T${clock.padEnd(8, ":00")}Z`);
    if (Number.isNaN(moment.getTime())) return utc;
    const part = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]));
    const offset = part.timeZoneName.replace("GMT", "") || "+00:00";
    const time = [part.hour, part.minute, part.second].slice(0, clock.split(":").length).join(":");
    return `${part.year}-${part.month}-${part.day} ${time} ${offset}`;
  }

  function inUtc(text) {
    return text.endsWith("Z") ? `${text.slice(0, -1)} UTC` : text;
  }

  function showText(node) {
    const matches = [...node.data.matchAll(TIME)];
    if (matches.length === 0 || node.parentElement?.closest(LEFT_ALONE)) return;
    const pieces = [];
    let end = 0;
    for (const match of matches) {
      const text = local(...match);
      if (text === match[0]) continue;
      const element = document.createElement("time");
      element.dateTime = `${match[1]}T${match[2]}Z`;
      element.title = inUtc(match[0]);
      element.textContent = text;
      pieces.push(node.data.slice(end, match.index), element);
      end = match.index + match[0].length;
    }
    if (pieces.length === 0) return;
    const parent = node.parentElement;
    if (parent.matches("time") && node.data.trim() === matches[0][0]) {
      parent.title = pieces[1].title;
      node.data = pieces[1].textContent;
    } else {
      node.replaceWith(...pieces, node.data.slice(end));
    }
  }

  function showTitle(element) {
    const title = element.title.replace(TIME, (utc, ...place) => {
      const text = local(utc, ...place);
      return text === utc ? utc : `${text} (${inUtc(utc)})`;
    });
    if (title !== element.title) element.title = title;
  }

  function showIn(root) {
    if (root.nodeType === Node.TEXT_NODE) {
      showText(root);
    } else if (root.nodeType === Node.ELEMENT_NODE) {
      if (root.matches("time[title]")) showTitle(root);
      root.querySelectorAll("time[title]").forEach(showTitle);
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      const texts = [];
      while (walker.nextNode()) texts.push(walker.currentNode);
      texts.forEach(showText);
    }
  }

  function offer() {
    const zones = new Set(["UTC", ...Intl.supportedValuesOf("timeZone")]);
    const stored = choice.dataset.chosen;
    choice.append(
      new Option(`Browser (${browserZone})`, ""),
      ...[...zones].map((zone) => new Option(zone, zone)),
    );
    choice.value = zones.has(stored) ? stored : "";
    choice.addEventListener("change", async () => {
      const saved = await fetch(choice.form.action, { method: "POST", body: new URLSearchParams(new FormData(choice.form)) });
      if (saved.ok) location.reload();
    });
    choice.closest("[hidden]").hidden = false;
  }

  // The page is in UTC already.
  if (!/^(Etc\/)?(UTC|UCT|Universal|Zulu)$/.test(format.resolvedOptions().timeZone)) {
    showIn(document.body);
    new MutationObserver((changes) => {
      for (const change of changes) {
        if (change.type === "characterData") showText(change.target);
        else change.addedNodes.forEach(showIn);
      }
    }).observe(document.body, { childList: true, characterData: true, subtree: true });
  }
  if (choice) offer();
})();
