"use strict";
const tip = document.getElementById("tip");
let shown = null;

function show(element) {
  if (shown) shown.classList.remove("on");
  shown = element;
  tip.hidden = !element;
  if (!element) return;
  element.classList.add("on");
  tip.replaceChildren();
  const shape = document.createElement("b");
  const known = element.dataset.s;
  shape.textContent = known === undefined ? "shape unknown" : "(" + known + ")";
  tip.append(shape);
  if (element.dataset.r) {
    const reason = document.createElement("span");
    reason.textContent = "not known: " + element.dataset.r;
    tip.append(reason);
  }
  const box = element.getClientRects()[0];
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = Math.max(8, Math.min(box.left, room)) + window.scrollX + "px";
  const below = box.bottom + tip.offsetHeight + 8 < window.innerHeight;
  tip.style.top = (below ? box.bottom + 4 : box.top - tip.offsetHeight - 4) + window.scrollY + "px";
}

function seen(event) {
  return event.target.closest(".source .s");
}

let mouse = "";

function moved(event) {
  const before = mouse;
  mouse = event.screenX + " " + event.screenY;
  return mouse !== before;
}

// Where the page moves below the mouse, what was shown stays.
document.addEventListener("mouseover", (event) => {
  if (moved(event)) show(seen(event));
});
document.addEventListener("mousemove", moved);
document.addEventListener("click", (event) => {
  if (event.target.id !== "next") show(seen(event));
});
for (const element of document.querySelectorAll(".source .s")) element.tabIndex = 0;
document.addEventListener("focusin", (event) => {
  if (seen(event)) show(seen(event));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") show(null);
  if (event.key === "s" && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const box = document.getElementById("inlays");
    box.checked = !box.checked;
  }
  if (event.key === "n" && !event.ctrlKey && !event.metaKey && !event.altKey) next();
});

const lost = Array.from(document.querySelectorAll(".source .begins"));
let at = -1;

function next() {
  if (!lost.length) return;
  at = (at + 1) % lost.length;
  lost[at].scrollIntoView({ block: "center", inline: "nearest" });
  lost[at].focus({ preventScroll: true });
}

const button = document.getElementById("next");
button.disabled = !lost.length;
button.addEventListener("click", next);
