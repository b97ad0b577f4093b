"use strict";
// Presets and their receiver: shows the presets of the selected databases, and the inputs of the selected service.
// Hidden inputs are disabled, so that they are not sent. Without this script, everything is shown.
(() => {
  const part = document.querySelector("[data-preset-part]");
  if (!part) return;
  const form = part.closest("form");
  const all = (selector, within = part) => Array.from(within.querySelectorAll(selector));
  const show = (element, on) => {
    element.hidden = !on;
    for (const input of all("input, select, textarea, button", element)) input.disabled = !on;
  };

  function refresh() {
    const wanted = part.querySelector('[name="alerts"]');
    show(part.querySelector("[data-wanted]"), !wanted || wanted.checked);
    if (wanted && !wanted.checked) return;
    const engines = all(`[name="${part.dataset.engines}"]:checked`, form).map((box) => box.value.toLowerCase());
    for (const group of all("[data-engine]")) show(group, engines.includes(group.dataset.engine));
    const type = part.querySelector('[name$=".typeName"]').value;
    for (const field of all("[data-for]")) show(field, field.dataset.for.split(" ").includes(type));
  }

  form.addEventListener("change", refresh);
  // Browsers restore the selection when the user comes back to the page.
  window.addEventListener("pageshow", refresh);
  refresh();

  const result = part.querySelector("[data-test-result]");
  if (result) {
    result.focus({ preventScroll: true });
    result.scrollIntoView({ block: "center" });
  }
})();
