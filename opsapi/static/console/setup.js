// Sends the token of an opened link. Browsers do not send the fragment of a URL, so only this form sends the token.
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
addEventListener("hashchange", send); // The link was opened in a tab that already shows this page.
