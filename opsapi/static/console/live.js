// A page that shows states reads itself again every ten seconds while it is visible, and shows whether that works.
// It replaces the parts (data-part) and rows (data-list) that have changed. It leaves alone parts in which the
// operator selects text, types or has opened a list, and the order of rows while some are selected.
"use strict";

(() => {
  const EVERY_MS = 10_000;
  const GIVE_UP_MS = 8_000;
  const page = document.querySelector("[data-live]");
  const state = page.querySelector("[data-state]");
  const announcement = page.querySelector("[data-announced]");
  // Parts, rows and cells as the server sent them: on the page, they may have been opened or folded since.
  const written = new Map();
  const icon = document.querySelector("link[rel=icon]");
  const ownIcon = icon?.href;
  const title = document.title.replace(/^\s*\(\d+\+?\)\s*/, "");
  let timer = 0;
  let tag = "";  // of the widgets that are shown
  let { readWords: lastRead, summary: lastSummary } = document.querySelector("[data-read]").dataset;

  function partsOf(root) {
    return [...root.querySelectorAll("[data-part]")];
  }

  function rowsOf(list) {
    return [...(list?.querySelectorAll("tr.data-row") ?? [])];
  }

  function keyOf(row) {
    return row.querySelector("th a, td a")?.getAttribute("href") ?? row.textContent;
  }

  // A form has another token each time.
  function htmlOf(element) {
    return element.outerHTML.replace(/(name="csrfmiddlewaretoken" value=")[^"]*/g, "$1");
  }

  // Screen readers announce only a change, not the time every ten seconds.
  function say(text, announced) {
    state.textContent = text;
    if (announcement.textContent !== announced) announcement.textContent = announced;
  }

  function offer(text, href) {
    const link = document.createElement("a");
    link.href = href;
    link.textContent = text;
    state.append(" ", link);
  }

  function showTrouble(text) {
    page.classList.add("live-stale");
    say(text, text);
  }

  // The number of alerts that need somebody: in the title, and in the icon of the tab.
  function showNeeds(number) {
    document.title = number ? `(${number}) ${title}` : title;
    if (!icon) return;
    if (!number) {
      icon.href = ownIcon;
      return;
    }
    const size = number.length > 2 ? 24 : 36;
    icon.href = `data:image/svg+xml,${encodeURIComponent(
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="#b91c1c"/>` +
      `<text x="32" y="33" fill="#fff" font-family="sans-serif" font-weight="700" font-size="${size}" text-anchor="middle" dominant-baseline="central">${number}</text></svg>`,
    )}`;
  }

  function isUsed(element) {
    const active = document.activeElement;
    const selection = getSelection();
    return (
      (element.contains(active) && active.matches("input:not([type=checkbox]), select, textarea, [contenteditable], [role=combobox]")) ||
      element.querySelector(".select2-container--open") !== null ||
      (!selection.isCollapsed && selection.containsNode(element, true))
    );
  }

  // Restores the focus: the same link or control, otherwise the part.
  function place(part) {
    const active = document.activeElement;
    if (active === part || !part.contains(active)) return active === part ? () => part : null;
    const same = (one) => one.tagName === active.tagName && one.getAttribute("href") === active.getAttribute("href");
    const which = [...part.querySelectorAll(active.tagName)].filter(same).indexOf(active);
    return (fresh) => {
      const alike = [...fresh.querySelectorAll(active.tagName)].filter(same);
      return alike[which] || alike[0] || fresh;
    };
  }

  function replace(old, sent) {
    const fresh = document.importNode(sent, true);
    const findFocus = place(old);
    const open = [...old.querySelectorAll("details")].map((one) => one.open);
    const scrolled = [...old.querySelectorAll(".overview-scroll")].map((one) => one.scrollTop);
    old.replaceWith(fresh);
    fresh.querySelectorAll("details").forEach((one, at) => { one.open = open[at] || false; });
    fresh.querySelectorAll(".overview-scroll").forEach((one, at) => { one.scrollTop = scrolled[at] || 0; });
    if (findFocus) findFocus(fresh).focus({ preventScroll: true });
  }

  // Replaces an element if the server has sent another one since.
  function update(name, old, sent) {
    const html = htmlOf(sent);
    if (written.get(name) === html) return;
    if (isUsed(old)) return;
    written.set(name, html);
    replace(old, sent);
  }

  // What the head of a list says about its rows, such as the button for all of them.
  function headOf(list) {
    return list?.querySelector("[data-of-rows]");
  }

  function cellsOf(row) {
    return [...row.cells].filter((cell) => !cell.classList.contains("action-checkbox"));
  }

  // Rows that have left the list look so until it is shown again.
  function updateCells(shown, sent) {
    const rows = new Map(rowsOf(shown).map((row) => [keyOf(row), row]));
    const left = new Set(rowsOf(sent).map(keyOf));
    for (const [key, row] of rows) row.classList.toggle("live-gone", !left.has(key));
    for (const fresh of rowsOf(sent)) {
      const old = rows.get(keyOf(fresh));
      if (!old) continue;
      const cells = cellsOf(old);
      cellsOf(fresh).forEach((cell, at) => update(`${keyOf(fresh)} ${at}`, cells[at], cell));
    }
  }

  // Returns whether the list has the rows and the order that were sent.
  function updateList(sent) {
    const shown = document.querySelector("[data-list]");
    if (!shown || !sent) return true;
    const keys = (list) => rowsOf(list).map(keyOf).join("\n");
    if (keys(shown) === keys(sent)) {
      updateCells(shown, sent);
      const [old, fresh] = [shown, sent].map(headOf);
      if (old && fresh) update("head", old, fresh);
      return true;
    }
    if (shown.querySelector("input.action-select:checked") || isUsed(shown)) {
      updateCells(shown, sent);
      return false;
    }
    // The theme moves the table into a box that scrolls, which would lose the focus.
    const tables = [shown, sent].map((list) => list.querySelector("#result_list"));
    if (tables.every(Boolean)) replace(...tables);
    else replace(shown, sent);
    rememberCells();
    const parent = document.querySelector(".result-list-wrapper");
    const boxes = parent?.querySelectorAll("tr input.action-select") ?? [];
    const counter = parent?.querySelector("span.action-counter");
    if (boxes.length > 0 && counter) {
      counter.dataset.actionsIcnt = String(boxes.length);
      window.Actions(boxes, { parent });
    }
    return true;
  }

  function rememberCells() {
    const head = headOf(document.querySelector("[data-list]"));
    if (head) written.set("head", htmlOf(head));
    for (const row of rowsOf(document.querySelector("[data-list]"))) {
      const key = keyOf(row);
      cellsOf(row).forEach((cell, at) => written.set(`${key} ${at}`, htmlOf(cell)));
    }
  }

  function take(answer) {
    const fresh = partsOf(answer);
    const shown = partsOf(document);
    const names = (parts) => parts.map((one) => one.dataset.part).join();
    const isSame = names(fresh) === names(shown);
    if (!isSame && page.dataset.url) {
      location.reload();  // the role or the version of the platform has changed
      return;
    }
    if (isSame) fresh.forEach((part, at) => update(part.dataset.part, shown[at], part));
    const isListed = updateList(answer.querySelector("[data-list]"));
    tell(answer.querySelector("[data-read]").dataset);
    if (!isSame) offer("The page has changed: show it", location.href);
    else if (!isListed) offer("The list has changed: show it", location.href);
    page.dispatchEvent(new CustomEvent("live:read"));
  }

  function tell(read) {
    const changed = read.summary !== lastSummary || page.classList.contains("live-stale");
    lastRead = read.readWords;
    lastSummary = read.summary;
    if (read.needs !== undefined) showNeeds(read.needs);
    page.classList.remove("live-stale");
    say(`Last refreshed ${lastRead}`, changed ? `Refreshed: ${lastSummary}` : announcement.textContent);
  }

  function endSession() {
    showTrouble("Your session has ended, so this page is no longer updated.");
    offer("Log in again", page.dataset.login);
  }

  // Returns whether to continue.
  async function refresh() {
    let answer;
    let text;
    try {
      answer = await fetch(page.dataset.url || location.href, {
        headers: { "X-Console-Refresh": "1", ...(tag && { "If-None-Match": tag }) },
        cache: "no-store",
        redirect: "manual",
        signal: AbortSignal.timeout(GIVE_UP_MS),
      });
      if (answer.type === "opaqueredirect" || answer.status === 403) {
        endSession();
        return false;
      }
      if (answer.status === 304) {
        const time = new Date(answer.headers.get("Date")).toISOString();
        tell({ summary: lastSummary, readWords: `${time.slice(0, 10)} ${time.slice(11, 19)}Z` });
        return true;
      }
      if (answer.status === 404 && !page.dataset.url) {
        showTrouble("This page no longer exists: what it shows was deleted.");
        return false;
      }
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      text = await answer.text();
    } catch (error) {
      const why = answer && !answer.ok ? `The server returned status ${answer.status}` : "Connection lost";
      showTrouble(`${why}. Showing data from ${lastRead}; retrying every 10 seconds.`);
      return true;
    }
    take(new DOMParser().parseFromString(text, "text/html"));
    tag = answer.headers.get("ETag") || "";
    return true;
  }

  function wait() {
    clearTimeout(timer);
    timer = setTimeout(run, EVERY_MS);
  }

  let running = false;
  async function run() {
    if (document.hidden || running) return;
    running = true;
    const goOn = await refresh().finally(() => { running = false; });
    if (goOn && !document.hidden) wait();
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) run();
  });
  partsOf(document).forEach((part) => written.set(part.dataset.part, htmlOf(part)));
  rememberCells();
  showNeeds(document.querySelector("[data-read]").dataset.needs);
  say(`Last refreshed ${lastRead}`, "");
  wait();
})();
