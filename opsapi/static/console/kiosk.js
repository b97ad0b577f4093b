// Reads the board of a kiosk every ten seconds. The token is the part of the address after #, so that it is in no log;
// it is sent in a header.
"use strict";

(() => {
  const EVERY_MS = 10_000;
  const GIVE_UP_MS = 8_000;
  const board = document.getElementById("board");
  const trouble = document.getElementById("trouble");
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  let lastRead = "";

  function showTrouble(text) {
    document.body.classList.toggle("kiosk-stale", text !== "");
    trouble.textContent = text;
    trouble.hidden = text === "";
  }

  // Returns the milliseconds until the next request; 0 to end.
  async function read() {
    let answer;
    let text;
    try {
      answer = await fetch(document.body.dataset.board, {
        headers: { "X-Kiosk-Token": decodeURIComponent(location.hash.slice(1)) },
        cache: "no-store",
        credentials: "omit",
        signal: AbortSignal.timeout(GIVE_UP_MS),
      });
      if (answer.status === 404) {
        board.replaceChildren();
        showTrouble("This address shows nothing. It has expired, was revoked, or is incomplete.");
        return 0;
      }
      if (answer.status === 429) {
        showTrouble("Too many wrong addresses were opened here. Trying again in a while.");
        return 1000 * Number(answer.headers.get("Retry-After") || 60);
      }
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      text = await answer.text();
    } catch (error) {
      const why = answer && !answer.ok ? `The server returned status ${answer.status}` : "Connection lost";
      showTrouble(`${why}. ${lastRead ? `Showing data from ${lastRead}` : "No data yet"}; retrying every 10 seconds.`);
      return EVERY_MS;
    }
    const fresh = new DOMParser().parseFromString(text, "text/html");
    board.replaceChildren(...fresh.body.children);
    const time = board.querySelector("[data-time]");
    lastRead = clock.format(new Date(time.dateTime));
    time.textContent = lastRead;
    document.title = `${board.querySelector("h1").textContent} · Ops API`;
    showTrouble("");
    return EVERY_MS;
  }

  async function run() {
    const wait = await read();
    if (wait) setTimeout(run, wait);
  }

  addEventListener("hashchange", () => location.reload());
  run();
})();
