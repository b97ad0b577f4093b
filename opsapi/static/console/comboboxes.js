// What select2 makes of a select that is searched by typing has no name: it gets that of the select's label.
"use strict";

(() => {
  function name(made) {
    const label = made.previousElementSibling?.labels?.[0];
    const combobox = made.querySelector("[role=combobox]");
    if (!label || !combobox) return;
    label.id ||= `${label.htmlFor}-label`;
    // What is chosen stands in it as a text field without a name, which nobody can type into.
    const chosen = combobox.querySelector("[role=textbox]");
    for (const attribute of ["role", "aria-readonly"]) chosen?.removeAttribute(attribute);
    combobox.setAttribute("aria-labelledby", `${label.id} ${combobox.getAttribute("aria-labelledby") || ""}`.trim());
  }

  // When it does that nobody tells.
  new MutationObserver((changes) => {
    for (const node of changes.flatMap((one) => [...one.addedNodes])) {
      if (node instanceof Element && node.matches(".select2-container")) name(node);
    }
  }).observe(document, { childList: true, subtree: true });

  // The field to type into stands at the end of the page while it is open.
  document.addEventListener("focusin", ({ target }) => {
    if (!target.matches(".select2-search__field")) return;
    const open = document.querySelector(".select2-container--open");
    const label = open?.previousElementSibling?.labels?.[0];
    if (label) target.setAttribute("aria-label", label.textContent.trim());
  });
})();
