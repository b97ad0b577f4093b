// The button that shows and hides the filters of a list; without script they are shown.
"use strict";

{
  const button = document.querySelector("#filters-button");
  const panel = document.querySelector("#filters-panel");

  function open(wanted) {
    button.setAttribute("aria-expanded", String(wanted));
    panel.toggleAttribute("data-open", wanted);
    const first = "select:not(.select2-hidden-accessible), .select2-selection, input:not([type=hidden]), a";
    (wanted ? panel.querySelector(first) ?? panel : button).focus();
  }

  button?.addEventListener("click", () => open(!panel.hasAttribute("data-open")));
  panel?.querySelector("[data-close]").addEventListener("click", () => open(false));
  for (const part of [button, panel]) {
    part?.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !panel.hasAttribute("data-open")) return;
      // The key that closes the list of a select is not meant for the filters: asked before the select closes it.
      if (panel.querySelector(".select2-container--open")) return;
      event.preventDefault();
      open(false);
    }, true);
  }
}
