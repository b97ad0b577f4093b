// Sends the token of an opened link. Browsers send no fragment, so the token reaches the server in this form alone.
"use strict";

const form = document.querySelector("form[data-setup-token]");

function send() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  if (form) {
    form.elements.token.value = token;
    form.requestSubmit();
  }
}

send();
addEventListener("hashchange", send); // The link was opened where this page is shown already.
