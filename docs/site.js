// Regions that scroll can be reached by the keyboard, and the search has a name.
document$.subscribe(() => requestAnimationFrame(() => {
  document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .md-sidebar__scrollwrap").forEach((e) => e.tabIndex = 0);
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
}));
