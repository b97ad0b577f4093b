// The behaviour of console pages: the theme loads this file on each of them, before the page is read.
"use strict";

// select2 replaces a select that is searched by typing with an element without a name: it gets the select's label.
(() => {
  function name(made) {
    const label = made.previousElementSibling?.labels?.[0];
    const combobox = made.querySelector("[role=combobox]");
    if (!label || !combobox) return;
    label.id ||= `${label.htmlFor}-label`;
    // The selection is in it as a text field without a name that is read-only.
    const chosen = combobox.querySelector("[role=textbox]");
    for (const attribute of ["role", "aria-readonly"]) chosen?.removeAttribute(attribute);
    combobox.setAttribute("aria-labelledby", `${label.id} ${combobox.getAttribute("aria-labelledby") || ""}`.trim());
  }

  // select2 sends no event when it does this.
  new MutationObserver((changes) => {
    for (const node of changes.flatMap((one) => [...one.addedNodes])) {
      if (node instanceof Element && node.matches(".select2-container")) name(node);
    }
  }).observe(document, { childList: true, subtree: true });

  // While it is open, its text field is at the end of the page.
  document.addEventListener("focusin", ({ target }) => {
    if (!target.matches(".select2-search__field")) return;
    const open = document.querySelector(".select2-container--open");
    const label = open?.previousElementSibling?.labels?.[0];
    if (label) target.setAttribute("aria-label", label.textContent.trim());
  });
})();

document.addEventListener("DOMContentLoaded", () => {
  for (const form of document.querySelectorAll("form.console-form")) sendOnce(form);
  for (const button of document.querySelectorAll("button[data-copy]")) offerCopy(button);
  foldFilters();
  // The filters of the event log are open where there is room for them.
  const filters = document.querySelector(".event-filters");
  if (filters && window.matchMedia("(min-width: 1024px)").matches) filters.open = true;
});

// A button that is pressed twice in a row sends its form once.
function sendOnce(form) {
  const AGAIN_AFTER_MS = 3000;
  let sent = -Infinity;
  form.addEventListener("submit", (event) => {
    if (event.submitter?.formTarget) return; // The answer opens in another tab, and this form can be sent.
    if (event.timeStamp - sent < AGAIN_AFTER_MS) event.preventDefault();
    else sent = event.timeStamp;
  });
}

// <button type="button" data-copy="#id" hidden>Copy</button>. Without script it stays hidden.
function offerCopy(button) {
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  button.after(" ", said);
  button.hidden = false;
  button.addEventListener("click", async () => {
    const done = await copy(document.querySelector(button.dataset.copy)).catch(() => false);
    said.textContent = done ? "Copied." : "Copying failed. The text is selected: press Ctrl-C.";
  });
}

async function copy(element) {
  // Pages served without TLS have no clipboard; a selected text can be copied by hand.
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  if (!navigator.clipboard) return document.execCommand("copy");
  await navigator.clipboard.writeText(element.innerText.trim());
  return true;
}

// The button that shows and hides the filters of a list. Without script they are shown.
function foldFilters() {
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
      // The key closes the list of an open select first. This listener runs before the select closes it.
      if (panel.querySelector(".select2-container--open")) return;
      event.preventDefault();
      open(false);
    }, true);
  }
}
