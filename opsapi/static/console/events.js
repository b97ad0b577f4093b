// Where there is room for them the filters are open; without this they are opened by hand.
if (window.matchMedia("(min-width: 1024px)").matches) {
  document.querySelector(".event-filters").open = true;
}
