// Asks the server for the effect of a maintenance window whenever an input changes.
"use strict";

{
  const places = ["[data-mute-extent]", "[data-window-effect]"];
  const form = document.querySelector(places[0]).closest("form");
  const button = document.querySelector("[data-mute-preview]");
  let running = false;
  let changed = false;
  button.hidden = true;

  // One request at a time: the server refuses previews of a project that run next to others.
  async function show() {
    changed = true;
    if (running) return;
    running = true;
    while (changed) {
      changed = false;
      await ask().catch(() => { button.hidden = false; });
    }
    running = false;
  }

  async function ask() {
    const typed = new FormData(form);
    typed.set(button.querySelector("button").name, "yes");
    const answer = await fetch(location.href, { method: "POST", body: new URLSearchParams(typed) });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (changed) return;
    const shown = places.map((place) => page.querySelector(place));
    // Another page answers if the form was just saved, if the session has ended, or if the server fails. Then the
    // button asks.
    button.hidden = !shown.includes(null);
    if (button.hidden) {
      places.forEach((place, at) => document.querySelector(place).replaceChildren(...shown[at].children));
    }
  }

  // select2 sends its change event only through jQuery, which also receives the events of other inputs.
  if (window.django?.jQuery) window.django.jQuery(form).on("change", show);
  else form.addEventListener("change", show);
}
