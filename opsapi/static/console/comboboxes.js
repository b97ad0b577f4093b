// What select2 makes of a select that is searched by typing has no name: it gets that of the select's label.
"use strict";

addEventListener("load", () => {
  for (const select of document.querySelectorAll("select.select2-hidden-accessible")) {
    const label = select.labels[0];
    const made = select.nextElementSibling;
    const combobox = made.querySelector("[role=combobox]");
    if (!label || !combobox) continue;
    label.id ||= `${select.id}-label`;
    combobox.setAttribute("aria-labelledby", `${label.id} ${combobox.getAttribute("aria-labelledby") || ""}`.trim());
  }
});

// The field to type into stands at the end of the page while it is open.
addEventListener("focusin", ({ target }) => {
  if (!target.matches?.(".select2-search__field")) return;
  const open = document.querySelector(".select2-container--open");
  const label = open?.previousElementSibling?.labels?.[0];
  if (label) target.setAttribute("aria-label", label.textContent.trim());
});
