// A button that is pressed twice in a row sends its form once.
"use strict";

const AGAIN_AFTER_MS = 3000;

for (const form of document.querySelectorAll(".console-form")) {
  let sent = -Infinity;
  form.addEventListener("submit", (event) => {
    if (event.timeStamp - sent < AGAIN_AFTER_MS) event.preventDefault();
    else sent = event.timeStamp;
  });
}
