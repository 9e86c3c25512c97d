"use strict";
const RIGHT = 320; // of the chips: what stands further right are lanes
const MARGIN = 12;

// A drawing with its chips that open: for each the drawing that is in it, and where it begins.
function levelOf(svg) {
  const own = Array.from(svg.querySelectorAll("g path, g rect, g text, g circle"));
  const inner = Array.from(svg.querySelectorAll(":scope > svg.inner"));
  const folds = Array.from(svg.querySelectorAll(":scope > g.fold"), (button) => ({
    button,
    bottom: Number(button.dataset.bottom),
    isOpen: button.hasAttribute("data-open"),
    level: levelOf(inner.find((one) => one.dataset.chip === button.dataset.chip)),
  }));
  return {
    svg,
    folds,
    width: svg.width.baseVal.value,
    height: svg.height.baseVal.value,
    places: own.filter((one) => one.ownerSVGElement === svg).map(placeOf),
  };
}

function placeOf(element) {
  const name = { path: "d", circle: "cy" }[element.localName] || "y";
  const paths = element.parentNode.querySelectorAll(":scope > path");
  const path = Array.from(paths, (one) => one.getAttribute("d")).join("");
  const heights = Array.from(path.matchAll(/(?:M\S+ |V)([-\d.]+)/g), (found) => Number(found[1]));
  return {
    element,
    name,
    told: element.getAttribute(name),
    x: element.getAttribute("cx"),
    first: Math.min(...heights),
    last: Math.max(...heights),
  };
}

// Make room for what is open, and return how large the drawing is then.
function lay(level) {
  let away = 0;
  for (const fold of level.folds) {
    fold.room = 0;
    fold.button.setAttribute("aria-expanded", fold.isOpen);
    fold.button.querySelector(".sign").textContent = fold.isOpen ? "▾" : "▸";
    const inner = fold.level.svg;
    inner.setAttribute("display", fold.isOpen ? "inline" : "none");
    if (!fold.isOpen) continue;
    const size = lay(fold.level);
    fold.room = size.height + MARGIN;
    away = Math.max(away, inner.x.baseVal.value + size.width + MARGIN - RIGHT - 30);
  }
  const open = level.folds.filter((one) => one.isOpen);
  const down = (y) => open.reduce((sum, one) => sum + (y >= one.bottom ? one.room : 0), y);
  let isWider = false;
  for (const { element, name, told, x, first, last } of level.places) {
    const isAround = open.some((one) => first < one.bottom && one.bottom < last);
    isWider ||= isAround;
    const aside = (at) => (isAround && at > RIGHT ? at + away : at);
    element.setAttribute(name, name === "d" ? moved(told, aside, down) : down(Number(told)));
    if (x) element.setAttribute("cx", aside(Number(x)));
  }
  for (const { level: inner, bottom, room } of open) {
    inner.svg.setAttribute("y", down(bottom) - room + MARGIN / 2);
  }
  const width = Math.max(level.width + (isWider ? away : 0), RIGHT + 30 + away);
  const height = down(level.height);
  level.svg.setAttribute("width", width);
  level.svg.setAttribute("height", height);
  if (level.svg.hasAttribute("viewBox")) level.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return { width, height };
}

function moved(path, aside, down) {
  return path.replace(/([MHV])([-\d.]+)(?: ([-\d.]+))?/g, (_, letter, first, second) => {
    if (letter === "V") return "V" + down(Number(first));
    const x = letter + aside(Number(first));
    return letter === "M" ? x + " " + down(Number(second)) : x;
  });
}

function* every(level) {
  for (const fold of level.folds) {
    yield fold;
    yield* every(fold.level);
  }
}

const drawing = levelOf(document.querySelector(".drawing > svg"));
lay(drawing);

function toggle(button) {
  const fold = Array.from(every(drawing)).find((one) => one.button === button);
  fold.isOpen = !fold.isOpen;
  lay(drawing);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("g.fold");
  if (button) toggle(button);
});
document.addEventListener("keydown", (event) => {
  const button = event.target.closest("g.fold");
  if (!button || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  toggle(button);
});

function setAll(isOpen) {
  for (const fold of every(drawing)) fold.isOpen = isOpen;
  lay(drawing);
}

for (const id of ["open", "close"]) {
  document.getElementById(id)?.addEventListener("click", () => setAll(id === "open"));
}
