// Reloads the part of a page that waits for an agent's first report, until there are hosts.
"use strict";

(() => {
  const EVERY_MS = 5000;
  const GIVE_UP_MS = 20000;
  // A page in a forgotten tab stops; its link still works.
  const MOST_LOOKS = 720;
  const section = document.getElementById("first-report");
  let looks = 0;
  let running = false;
  let timer;

  async function look() {
    const answer = await fetch(section.dataset.url, {
      headers: { "X-Console-Refresh": "1" },
      cache: "no-store",
      redirect: "manual",
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
    // The session has ended: the link leads to the log-in.
    if (answer.type === "opaqueredirect" || answer.status === 403) return false;
    if (!answer.ok) return true;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("first-report");
    const part = section.querySelector("[data-part]");
    const found = fresh.querySelector("[data-part]");
    // Unchanged content stays, because screen readers read new content aloud.
    if (part.innerHTML !== found.innerHTML) part.replaceChildren(...document.importNode(found, true).childNodes);
    if (!fresh.hasAttribute("data-done")) return true;
    section.querySelector("[data-again]")?.remove();
    return false;
  }

  async function run() {
    if (document.hidden || running || looks >= MOST_LOOKS) return;
    running = true;
    looks += 1;
    const goOn = await look().catch(() => true);
    running = false;
    if (goOn) timer = setTimeout(run, EVERY_MS);
    else looks = MOST_LOOKS;
  }

  if (section.hasAttribute("data-done")) return;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    run();
  });
  timer = setTimeout(run, EVERY_MS);
})();
