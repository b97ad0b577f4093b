"use strict";
// Adds and removes rows of a form, such as matchers. Without this script, the server does.
(() => {
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  let next = all("[data-row]").length;

  function number(section) {
    all("[data-row]", section).forEach((row, place) => {
      row.querySelector("[data-number]").textContent = String(place + 1);
      row.querySelector("[data-remove]").hidden = false;
      // The button takes the place of the checkbox.
      for (const box of all("[data-without-script]", row)) box.remove();
    });
  }

  function changed(section) {
    number(section);
    section.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function add(section) {
    const copy = document.createElement("template");
    copy.innerHTML = section.querySelector("template").innerHTML.replaceAll("__n__", String(next++));
    const row = copy.content.firstElementChild;
    section.querySelector("[data-rows]").append(row);
    changed(section);
    row.querySelector("select, input").focus();
  }

  function remove(row) {
    const section = row.closest("[data-part]");
    row.remove();
    changed(section);
    section.querySelector("[data-add]").focus();
  }

  for (const section of all("[data-part]")) {
    number(section);
    const button = section.querySelector("[data-add]");
    button.type = "button";
    button.addEventListener("click", () => add(section));
    section.addEventListener("click", (event) => {
      const removes = event.target.closest("[data-remove]");
      if (removes) remove(removes.closest("[data-row]"));
    });
  }
  // A row that the address asks for has the focus.
  document.querySelector("[data-row] [autofocus]")?.focus();
})();
