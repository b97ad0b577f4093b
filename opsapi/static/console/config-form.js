"use strict";
// The form of an alert configuration: shows the fields of the selected types.
// Hidden fields are disabled, so that they are not sent. The data- attributes say which fields belong to a type.
(() => {
  const form = document.querySelector("[data-config-form]");
  if (!form) return;

  const all = (selector, within = form) => Array.from(within.querySelectorAll(selector));
  const named = (name) => form.querySelector(`[name="${name}"]`);
  const words = (text) => (text || "").split(" ").filter(Boolean);
  const chosen = (select) => (select && select.selectedOptions[0] ? select.selectedOptions[0].dataset : {});

  const show = (element, on) => {
    element.hidden = !on;
    for (const input of all("input, select, textarea", element)) input.disabled = !on;
  };
  const offer = (option, on) => {
    option.hidden = option.disabled = !on;
    if (!on && option.selected) option.parentElement.closest("select").value = "";
  };

  const isGlobal = () => {
    const group = named("group");
    return group ? group.value === "global" : "global" in form.dataset;
  };

  function refreshScope() {
    const everywhere = isGlobal();
    for (const option of all("option[data-global]")) offer(option, everywhere);
    for (const scope of all("[data-scope]")) {
      show(scope, everywhere);
      if (!everywhere) continue;
      const forAll = named("forAllGroups").checked;
      show(scope.querySelector('[data-field="groupIds"]'), !forAll);
      show(scope.querySelector('[data-field="tags"]'), forAll);
    }
  }

  function refreshEvent() {
    const event = chosen(named("eventTypeName"));
    const fields = words(event.matchers);
    show(form.querySelector('[data-part="matchers"]'), fields.length > 0);
    for (const select of all('[name$=".fieldName"]'))
      for (const option of select.options) offer(option, !option.value || fields.includes(option.value));
    for (const part of all("[data-threshold-part]"))
      show(part, part.dataset.thresholdPart === event.threshold);
    const operator = named("metricThreshold.operator");
    if (!operator.disabled && !operator.value) operator.value = "GREATER_THAN";
    const units = named("metricThreshold.units");
    const metric = chosen(named("metricThreshold.metricName"));
    for (const option of units.options)
      offer(option, !option.value || !metric.units || words(metric.units).includes(option.value));
    units.options[0].text = metric.base || "–";
    // A single unit is no choice.
    units.parentElement.hidden = words(metric.units).length === 1;
    const meaning = form.querySelector("[data-metric-meaning]");
    meaning.textContent = metric.meaning || "";
    meaning.hidden = !metric.meaning;
  }

  function refreshRow(row) {
    const type = row.querySelector('[name$=".typeName"]');
    if (!type) return;
    row.querySelector('[name$=".intervalMin"]').placeholder = chosen(type).interval || "";
    for (const part of all("[data-for]", row)) {
      const on = words(part.dataset.for).includes(type.value);
      // A nested field, such as a checkbox of a list, is shown only if the list is shown.
      show(part, on && !part.parentElement.closest("[data-for][hidden]"));
    }
  }

  // The condition must last as long as the shortest delay, which is an input of the notifications.
  function refreshLasting() {
    const delays = all('[name$=".delayMin"]').filter((input) => !input.closest("template"));
    const shortest = Math.min(...delays.map((input) => Number(input.value) || 0));
    for (const button of all("[data-lasting]")) {
      button.hidden = !delays.length;
      button.textContent = shortest ? `for ${shortest} min` : "at once";
      button.title = "The shortest delay of the notifications. Press to change it.";
      button.onclick = () => delays.find((input) => (Number(input.value) || 0) === shortest)?.focus();
    }
  }

  function refresh() {
    refreshScope();
    refreshLasting();
    refreshEvent();
    for (const row of all("[data-row]")) refreshRow(row);
  }

  form.addEventListener("change", refresh);
  // Browsers restore the selection when the user comes back to the page.
  window.addEventListener("pageshow", refresh);
  refresh();

  // The result of a trial is far down.
  const result = form.querySelector("[data-trial-result]");
  if (result) {
    result.focus({ preventScroll: true });
    result.scrollIntoView({ block: "start" });
  }
})();
