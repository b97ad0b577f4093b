// The documents work without this script. It adds light and dark, copying of code, the key for the search, and the
// mark of the heading that is being read.
"use strict";

const root = document.documentElement;
root.classList.add("scripted");

// The console keeps the same choice under the same name: "auto", "light" or "dark", as JSON.
const CHOICE = "adminTheme";
const ICONS = {
  auto: '<rect x="3" y="4" width="18" height="13" rx="2"/><path d="M8 21h8M12 17v4"/>',
  light: '<circle cx="12" cy="12" r="4"/><path d="M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M19 5l-1.4 1.4M6.4 17.6 5 19"/>',
  dark: '<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z"/>',
};

function chosen() {
  try {
    const value = JSON.parse(localStorage.getItem(CHOICE));
    return value in ICONS ? value : "auto";
  } catch {
    return "auto"; // the browser keeps nothing, or something else wrote it
  }
}

function show(choice) {
  root.classList.toggle("dark", choice === "dark");
  root.classList.toggle("light", choice === "light");
}

show(chosen());

document.addEventListener("DOMContentLoaded", () => {
  addThemeButton();
  for (const code of document.querySelectorAll(".code")) addCopyButton(code);
  addSearchKey();
  markHeading();
  document.querySelector(".navigation [aria-current]")?.scrollIntoView({ block: "nearest", behavior: "instant" });
});

function addThemeButton() {
  const button = document.querySelector(".theme");
  const describe = (choice) => {
    button.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true">${ICONS[choice]}</svg>`;
    button.setAttribute("aria-label", `Colours: ${choice}`);
    button.title = `Colours: ${choice}`;
  };
  describe(chosen());
  button.hidden = false;
  button.addEventListener("click", () => {
    const names = Object.keys(ICONS);
    const next = names[(names.indexOf(button.dataset.choice ?? chosen()) + 1) % names.length];
    button.dataset.choice = next;
    try {
      localStorage.setItem(CHOICE, JSON.stringify(next));
    } catch {
      // The choice then lasts until the next page.
    }
    show(next);
    describe(next);
  });
}

function addCopyButton(code) {
  if (!navigator.clipboard) return; // browsers have it over https and on the same machine only
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.querySelector("pre").innerText);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
  });
  const reset = () => (button.textContent = "Copy");
  button.addEventListener("blur", reset);
  code.addEventListener("mouseleave", reset);
  code.append(button);
}

function addSearchKey() {
  const field = document.querySelector(".search input");
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

function markHeading() {
  const links = new Map(
    [...document.querySelectorAll(".contents a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
  );
  const headings = [...links.keys()].map((anchor) => document.getElementById(anchor)).filter(Boolean);
  if (!headings.length) return;
  const mark = () => {
    const read = headings.filter((heading) => heading.getBoundingClientRect().top < 120).at(-1);
    for (const link of links.values()) link.classList.remove("here");
    links.get(read?.id)?.classList.add("here");
  };
  document.addEventListener("scroll", mark, { passive: true });
  mark();
}
