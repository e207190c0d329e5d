"use strict";
// Shows the values of a figure under the pointer or the finger; the page is complete without it.
const shown = {
  share: (v) => (100 * v).toFixed(1) + " %",
  count: (v) => Math.round(v).toLocaleString("en"),
  number: (v) => Number(v.toPrecision(3)).toString(),
};
const nearest = (list, value) => {
  let best = 0;
  list.forEach((x, i) => { if (Math.abs(x - value) < Math.abs(list[best] - value)) best = i; });
  return best;
};
for (const figure of document.querySelectorAll("figure[data-figure]")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const readout = figure.querySelector(".readout");
  const words = readout.textContent;
  for (const plot of figure.querySelectorAll(".plot")) {
    const [left, right, low, high] = data.area;
    const line = plot.querySelector("i");
    const show = (event) => {
      if (!data.x.length) return;
      const box = plot.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width - left) / (right - left);
      const at = nearest(data.x, low + share * (high - low));
      const x = data.x[at];
      line.style.display = "block";
      line.style.left = 100 * (left + ((x - low) / (high - low)) * (right - left)) + "%";
      const told = data.series
        .filter(([, , values]) => values[at] !== null)
        .map(([name, kind, values]) => name + " " + shown[kind](values[at]));
      const place = data.places[at] || (Number.isInteger(x) ? shown.count(x) : shown.number(x));
      readout.textContent = data.axis + " " + place + ": " + told.join(", ");
      readout.classList.remove("hint");
    };
    const hide = () => {
      line.style.display = "none";
      readout.textContent = words;
      readout.classList.add("hint");
    };
    plot.addEventListener("pointermove", show);
    plot.addEventListener("pointerdown", show);
    plot.addEventListener("pointerleave", hide);
  }
}
