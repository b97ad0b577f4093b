// The keys of the console: "?" shows them. Keys without Ctrl do nothing while a text field has the focus.
"use strict";

(() => {
  const STORED = "consoleKeys";
  const dialog = document.getElementById("keys");
  const on = document.getElementById("keys-on");
  let isGoing = false;  // "g" was the last key

  function isTyping(target) {
    return target instanceof Element && target.closest("input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select, [contenteditable], [role=textbox], [role=combobox]") !== null;
  }

  // Rows of lists; opened rows may have rows of their own.
  function rows() {
    return [...document.querySelectorAll("#result_list tr.data-row, #result_list details[open] [data-row]")];
  }

  function linkOf(row) {
    return row.querySelector("a");
  }

  // The row with the focus.
  function current() {
    return document.activeElement.closest("#result_list [data-row], #result_list tr.data-row");
  }

  function step(by) {
    const all = rows().filter(linkOf);
    const at = all.indexOf(current());
    const next = at === -1 ? all[by > 0 ? 0 : all.length - 1] : all[at + by];
    if (next) linkOf(next).focus();
  }

  // Selects the row, or all rows in it.
  function select(row) {
    const boxes = [...(row?.querySelectorAll("input.action-select") ?? [])];
    const isWanted = boxes.some((box) => !box.checked);
    boxes.filter((box) => box.checked !== isWanted).forEach((box) => box.click());
  }

  // Acknowledges the selected alerts, or the alert with the focus.
  function acknowledge() {
    const isAny = document.querySelector("#result_list input.action-select:checked");
    (isAny ? document.querySelector(".actions [data-acknowledge]") : (current() ?? document.querySelector("[data-alert]"))?.querySelector("[data-acknowledge]"))?.click();
  }

  // Leads to the form that mutes the target.
  function mute() {
    const link = (current() ?? document.querySelector("[data-alert]"))?.querySelector("[data-mute]");
    if (link) location.assign(link.href);
  }

  function search() {
    const own = document.getElementById("searchbar");
    if (own) own.focus();
    else document.dispatchEvent(new CustomEvent("console:search"));
  }

  function show() {
    on.checked = localStorage.getItem(STORED) !== "off";
    dialog.showModal();
  }

  const KEYS = {
    "/": search,
    "?": show,
    j: () => step(1),
    k: () => step(-1),
    x: () => select(current()),
    a: acknowledge,
    m: mute,
  };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const isCommand = event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented;
    if (isCommand || isTyping(target) || document.querySelector("dialog[open]")) return;
    if (key !== "?" && localStorage.getItem(STORED) === "off") return;
    const goes = isGoing;
    isGoing = key === "g" && !goes;
    if (isGoing) return;
    const entry = goes && /^[a-z]$/.test(key) && document.querySelector(`#nav-sidebar-apps a[data-key="${key}"]`);
    if (entry) {
      event.preventDefault();
      location.assign(entry.href);
    } else if (Object.hasOwn(KEYS, key)) {
      event.preventDefault();
      KEYS[key]();
    }
  });

  on.addEventListener("change", () => localStorage.setItem(STORED, on.checked ? "on" : "off"));
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || target.closest("[data-close]")) dialog.close();
  });
  for (const button of document.querySelectorAll("[data-keys]")) {
    button.hidden = false;
    button.addEventListener("click", show);
  }
})();
