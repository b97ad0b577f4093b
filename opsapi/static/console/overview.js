// The start page reloads its widgets every ten seconds while it is visible, and shows whether that works.
"use strict";

(() => {
  const EVERY_MS = 10_000;
  const GIVE_UP_MS = 8_000;
  const page = document.getElementById("overview");
  const state = page.querySelector("[data-state]");
  const announcement = page.querySelector("[data-announced]");
  // The widgets as the server sent them: on the page, they may have been opened or folded since.
  const written = new Map();
  let timer = 0;
  let tag = "";  // of the widgets that are shown
  let lastRead = page.querySelector("[data-read]").dataset.readWords;
  let lastSummary = page.querySelector("[data-read]").dataset.summary;

  function partsOf(root) {
    return [...root.querySelectorAll("[data-part]")];
  }

  // Screen readers announce only a change, not the time every ten seconds.
  function say(text, announced) {
    state.textContent = text;
    if (announcement.textContent !== announced) announcement.textContent = announced;
  }

  function showTrouble(text) {
    page.classList.add("overview-stale");
    say(text, text);
  }

  // Restores the focus: the same link or control, otherwise the widget.
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

  function replace(old, fresh) {
    const findFocus = place(old);
    const open = [...old.querySelectorAll("details")].map((one) => one.open);
    const scrolled = [...old.querySelectorAll(".overview-scroll")].map((one) => one.scrollTop);
    old.replaceWith(fresh);
    fresh.querySelectorAll("details").forEach((one, at) => { one.open = open[at] || false; });
    fresh.querySelectorAll(".overview-scroll").forEach((one, at) => { one.scrollTop = scrolled[at] || 0; });
    if (findFocus) findFocus(fresh).focus({ preventScroll: true });
  }

  function take(answer) {
    const fresh = answer.querySelector(".overview");
    const names = partsOf(fresh).map((one) => one.dataset.part).join();
    const shown = partsOf(page);
    if (names !== shown.map((one) => one.dataset.part).join()) {
      location.reload();  // the role or the version of the platform has changed
      return;
    }
    partsOf(fresh).forEach((part, at) => {
      const html = part.outerHTML;
      if (written.get(part.dataset.part) === html) return;
      written.set(part.dataset.part, html);
      replace(shown[at], document.importNode(part, true));
    });
    tell(fresh.dataset);
    page.dispatchEvent(new CustomEvent("overview:read"));
  }

  function tell(read) {
    const changed = read.summary !== lastSummary || page.classList.contains("overview-stale");
    lastRead = read.readWords;
    lastSummary = read.summary;
    page.classList.remove("overview-stale");
    say(`Last refreshed ${lastRead}`, changed ? `Refreshed: ${lastSummary}` : announcement.textContent);
  }

  function endSession() {
    showTrouble("Your session has ended, so this page is no longer updated. ");
    const link = document.createElement("a");
    link.href = page.dataset.login;
    link.textContent = "Log in again";
    state.append(link);
  }

  // Returns whether to continue.
  async function refresh() {
    let answer;
    try {
      answer = await fetch(page.dataset.url, {
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
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      take(new DOMParser().parseFromString(await answer.text(), "text/html"));
      tag = answer.headers.get("ETag") || "";
    } catch (error) {
      const why = answer && !answer.ok ? `The server returned status ${answer.status}` : "Connection lost";
      showTrouble(`${why}. Showing data from ${lastRead}; retrying every 10 seconds.`);
    }
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
    const goOn = await refresh();
    running = false;
    if (goOn && !document.hidden) wait();
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) run();
  });
  partsOf(page).forEach((part) => written.set(part.dataset.part, part.outerHTML));
  say(`Last refreshed ${lastRead}`, "");
  wait();
})();
