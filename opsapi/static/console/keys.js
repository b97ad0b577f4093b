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

  function rows() {
    return [...document.querySelectorAll("#result_list tr.data-row")];
  }

  function linkOf(row) {
    return row.querySelector("th a, td a");
  }

  // The row with the focus.
  function current() {
    return document.activeElement.closest("#result_list tr.data-row");
  }

  function step(by) {
    const all = rows().filter(linkOf);
    const at = all.indexOf(current());
    const next = at === -1 ? all[by > 0 ? 0 : all.length - 1] : all[at + by];
    if (next) linkOf(next).focus();
  }

  function select(row) {
    row?.querySelector("input.action-select")?.click();
  }

  // Opens the form that acknowledges, as the list's menu of actions does.
  function acknowledge() {
    const form = document.getElementById("changelist-form");
    const action = form?.querySelector("select[name=action]");
    if (![...(action?.options ?? [])].some((option) => option.value === "acknowledge")) return;
    if (!form.querySelector("input.action-select:checked")) select(current());
    if (!form.querySelector("input.action-select:checked")) return;
    action.value = "acknowledge";
    action.dispatchEvent(new Event("change", { bubbles: true }));
    form.requestSubmit(form.querySelector("button[name=index]"));
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
