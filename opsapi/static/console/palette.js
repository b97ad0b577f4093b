// The search of the whole console: Ctrl-K, the button in the header, and "/" on pages without a search of their own.
"use strict";

(() => {
  const WAIT_MS = 100;
  const GIVE_UP_MS = 8_000;
  const dialog = document.getElementById("palette");
  const button = document.getElementById("palette-open");
  const projectButton = document.getElementById("project-open");
  const placeholder = document.getElementById("palette-input").placeholder;
  const input = document.getElementById("palette-input");
  const results = document.getElementById("palette-results");
  const state = dialog.querySelector("[role=status]");
  let timer = 0;
  let asked = null;  // aborts the request that is under way
  let shown = null;  // the search whose results are shown
  let isOfProjects = false;  // the search finds the project to work with, not pages

  function options() {
    return [...results.querySelectorAll("[role=option]")];
  }

  function activate(option) {
    for (const one of options()) one.setAttribute("aria-selected", String(one === option));
    if (option) {
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else {
      input.removeAttribute("aria-activedescendant");
    }
  }

  function step(by) {
    const all = options();
    if (all.length === 0) return;
    const at = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
    activate(all[(at + by + all.length) % all.length]);
  }

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function show(answer, query) {
    shown = query;
    let number = 0;
    results.replaceChildren(...answer.groups.map((group, place) => {
      const name = element("div", { id: `palette-group-${place}`, class: "console-palette-group", role: "presentation" }, group.title);
      const rows = group.results.map((row) => {
        const detail = row.detail ? [element("small", {}, row.detail)] : [];
        const id = `palette-option-${number++}`;
        return element("a", { id, href: row.url, role: "option", tabindex: "-1", "aria-selected": "false" },
          element("span", {}, row.title), ...detail);
      });
      return element("div", { role: "group", "aria-labelledby": name.id }, name, ...rows);
    }));
    results.hidden = number === 0;
    input.setAttribute("aria-expanded", String(number > 0));
    activate(options()[0]);
    const missing = answer.unfinished.length ? ` The search took too long for: ${answer.unfinished.join(", ")}.` : "";
    state.textContent = (number === 0 ? "Nothing found." : `${number} ${number === 1 ? "result" : "results"}.`) + missing;
  }

  function fail(text, link) {
    shown = null;
    results.replaceChildren();
    results.hidden = true;
    input.setAttribute("aria-expanded", "false");
    activate(null);
    state.textContent = text;
    if (link) state.append(link);
  }

  async function search() {
    asked?.abort();
    const mine = (asked = new AbortController());
    const query = input.value;
    const url = `${dialog.dataset.url}?${new URLSearchParams({ q: query, ...(isOfProjects && { from: location.pathname }) })}`;
    try {
      const signal = AbortSignal.any([mine.signal, AbortSignal.timeout(GIVE_UP_MS)]);
      const answer = await fetch(url, { headers: { Accept: "application/json" }, redirect: "manual", signal });
      if (answer.type === "opaqueredirect" || answer.status === 403) {
        fail("Your session has ended. ", element("a", { href: location.href, class: "console-link" }, "Log in again"));
      } else if (answer.ok) {
        const found = await answer.json();
        if (mine === asked) show(found, query);
      } else {
        fail(`The server returned status ${answer.status}.`);
      }
    } catch (error) {
      if (mine === asked) fail("Connection lost. Type to try again.");
    }
  }

  function open(ofProjects) {
    if (dialog.open) return;
    if (isOfProjects !== ofProjects) {
      isOfProjects = ofProjects;
      input.value = "";
      input.placeholder = ofProjects ? "Project" : placeholder;
      fail("");
    }
    dialog.showModal();
    input.select();
    if (shown !== input.value) search();
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, WAIT_MS);
  });

  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      // Results of an earlier text are not what the person means.
      if (shown === input.value) options().find((one) => one.getAttribute("aria-selected") === "true")?.click();
    }
  });

  results.addEventListener("pointermove", ({ target }) => {
    const option = target.closest("[role=option]");
    if (option && option.getAttribute("aria-selected") !== "true") activate(option);
  });

  // A link to a place of the page that is open loads nothing.
  results.addEventListener("click", ({ target }) => {
    if (target.closest("[role=option]")) dialog.close();
  });

  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || target.closest("[data-close]")) dialog.close();
  });

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (dialog.open) dialog.close();
      else if (!document.querySelector("dialog[open]")) open(false);
    }
  });

  document.addEventListener("console:search", () => open(false));
  button.addEventListener("click", () => open(false));
  projectButton.addEventListener("click", () => open(true));
  for (const one of [button, projectButton]) one.hidden = false;
})();
