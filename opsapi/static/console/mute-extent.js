// Asks the server for the effect of a maintenance window whenever an input changes.
"use strict";

{
  const places = ["[data-mute-extent]", "[data-window-effect]"];
  const form = document.querySelector(places[0]).closest("form");
  const button = document.querySelector("[data-mute-preview]");
  let latest = 0;
  button.hidden = true;

  async function show() {
    const asked = ++latest;
    const typed = new FormData(form);
    typed.set(button.querySelector("button").name, "yes");
    const answer = await fetch(location.href, { method: "POST", body: new URLSearchParams(typed) });
    if (!answer.ok || asked !== latest) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const shown = places.map((place) => page.querySelector(place));
    // Another page answers if the form was just saved, or if the session has ended. Then the button asks.
    button.hidden = !shown.includes(null);
    if (button.hidden) {
      places.forEach((place, at) => document.querySelector(place).replaceChildren(...shown[at].children));
    }
  }

  // select2 sends its change event only through jQuery, which also receives the events of other inputs.
  if (window.django?.jQuery) window.django.jQuery(form).on("change", show);
  else form.addEventListener("change", show);
}
