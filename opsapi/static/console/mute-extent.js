// Asks the server what a maintenance window mutes whenever its project or alert types change.
"use strict";

{
  const place = document.querySelector("[data-mute-extent]");
  const form = place.closest("form");
  const button = document.querySelector("[data-mute-preview]");
  let latest = 0;
  button.hidden = true;

  async function show(event) {
    if (!["group", "alertTypeNames"].includes(event.target.name)) return;
    const asked = ++latest;
    const typed = new FormData(form);
    typed.set(button.querySelector("button").name, "yes");
    const answer = await fetch(location.href, { method: "POST", body: new URLSearchParams(typed) });
    if (!answer.ok || asked !== latest) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    place.replaceChildren(page.querySelector("#mute-extent"));
  }

  // select2 sends its change event only through jQuery, which also receives the events of other inputs.
  if (window.django?.jQuery) window.django.jQuery(form).on("change", show);
  else form.addEventListener("change", show);
}
