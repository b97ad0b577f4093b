// Light or dark, before anything is drawn: the reader's choice, or that of the browser.
document.body.dataset.theme = localStorage.getItem("theme") || "auto";
