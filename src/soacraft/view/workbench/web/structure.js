// -- the blocks of an operator: select one, with the mouse or the arrow keys, and its two bodies light up ------------
function structure(data, select) {
  const side = Math.max(data.rows.length, data.columns.length, 1), cell = Math.max(4, Math.min(22, 420 / side)), named = cell >= 9;
  const short = x => x.length > 14 ? x.slice(0, 13) + "…" : x;
  const left = named ? 8 + 5.5 * Math.max(...data.rows.map(x => short(x).length), 1) : 4, top = named ? 8 + 5.5 * Math.max(...data.columns.map(x => short(x).length), 1) : 4;
  const width = cell * data.columns.length, height = cell * data.rows.length;
  const cursor = draw("rect", {class: "cursor", width: cell, height: cell, visibility: "hidden"});
  const picture = draw("svg", {class: "structure", tabindex: "0", role: "application", "aria-roledescription": "block matrix", width: left + width + 6, height: top + height + 6,
    viewBox: `0 0 ${left + width + 6} ${top + height + 6}`, "aria-label": `Structure: ${data.rows.length} by ${data.columns.length} blocks, ${data.cells.length} of them can be non-zero. Arrow keys move, enter selects.`},
    draw("rect", {class: "area", x: left, y: top, width, height}));
  const full = new Set();
  for (const [i, j, colour] of data.cells) {
    full.add(`${i},${j}`);
    picture.append(draw("rect", {class: "cell", x: left + j * cell, y: top + i * cell, width: 0.92 * cell, height: 0.92 * cell, fill: colour, "data-row": i, "data-column": j},
      draw("title", {}, `[${data.rows[i]}, ${data.columns[j]}]`)));
  }
  for (const i of data.row_borders) picture.append(draw("line", {x1: left, x2: left + width, y1: top + i * cell - 0.5, y2: top + i * cell - 0.5}));
  for (const j of data.column_borders) picture.append(draw("line", {y1: top, y2: top + height, x1: left + j * cell - 0.5, x2: left + j * cell - 0.5}));
  if (named) {
    data.rows.forEach((x, i) => picture.append(draw("text", {x: left - 4, y: top + (i + 0.65) * cell, "text-anchor": "end"}, short(x))));
    data.columns.forEach((x, j) => picture.append(draw("text", {transform: `translate(${left + (j + 0.65) * cell} ${top - 4}) rotate(-90)`}, short(x))));
  }
  picture.append(cursor);
  let [row, column] = [0, 0];
  function go(i, j, chosen) {
    if (!data.rows.length || !data.columns.length) return;
    [row, column] = [Math.min(Math.max(i, 0), data.rows.length - 1), Math.min(Math.max(j, 0), data.columns.length - 1)];
    fill(cursor, {x: left + column * cell, y: top + row * cell, visibility: "visible"}, []);
    say(`[${data.rows[row]}, ${data.columns[column]}]${full.has(`${row},${column}`) ? "" : ", zero by structure"}`);
    light([data.row_bodies[row], data.column_bodies[column]].filter(x => x !== null));
    if (chosen) select(row, column);
  }
  picture.addEventListener("click", event => {
    const box = picture.getBoundingClientRect(), scale = (left + width + 6) / box.width;
    const [j, i] = [((event.clientX - box.left) * scale - left) / cell, ((event.clientY - box.top) * scale - top) / cell];
    if (i >= 0 && j >= 0 && i < data.rows.length && j < data.columns.length) go(Math.floor(i), Math.floor(j), true);
  });
  picture.addEventListener("keydown", event => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (event.key === "Enter" || event.key === " ") go(row, column, true);
    else if (step) go(row + step[0], column + step[1], false);
    else return;
    event.preventDefault();
  });
  return picture;
}
