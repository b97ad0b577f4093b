// Buttons that copy: <button type="button" data-copy="#id" hidden>Copy</button>. Without script they stay hidden.
"use strict";

// Pages served without TLS have no clipboard of their own; what is marked can be copied by hand.
function mark(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

async function copy(element) {
  mark(element);
  if (!navigator.clipboard) {
    return document.execCommand("copy");
  }
  await navigator.clipboard.writeText(element.innerText.trim());
  return true;
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  button.after(" ", said);
  button.hidden = false;
  button.addEventListener("click", async () => {
    const done = await copy(document.querySelector(button.dataset.copy)).catch(() => false);
    said.textContent = done ? "Copied." : "Copying failed. The text is selected: press Ctrl-C.";
  });
}
