// @ts-check
// The list of sessions as a drawer, where the screen is narrow. It must not know what the list holds.

import { byId } from "./dom.js";

export function createDrawer() {
  const button = byId("drawer", HTMLButtonElement);
  const shade = byId("shade", HTMLElement);
  const nav = byId("sessions", HTMLElement);
  const main = byId("main", HTMLElement);
  const narrow = matchMedia("(max-width: 760px)");

  /** @param {boolean} open */
  function set(open) {
    document.body.classList.toggle("drawer", open);
    shade.hidden = !open;
    nav.inert = narrow.matches && !open;
    main.inert = narrow.matches && open;
    button.setAttribute("aria-expanded", String(open));
  }

  const isOpen = () => narrow.matches && document.body.classList.contains("drawer");
  button.addEventListener("click", () => {
    set(!isOpen());
    nav.querySelector("a")?.focus({ preventScroll: true });
  });
  shade.addEventListener("click", () => set(false));
  narrow.addEventListener("change", () => set(false));
  set(false);

  return {
    isOpen,
    open: () => { if (narrow.matches) set(true); },
    close: () => set(false),
  };
}
