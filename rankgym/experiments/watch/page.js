"use strict";
// All text goes into the page by textContent: nothing in the data can become markup.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const shown = data.shown;
const duels = data.kind !== "ranking";
const still = window.matchMedia("(prefers-reduced-motion: reduce)");
const PAGE = 10; // shown rounds that Page Up and Page Down move
const CHIPS = 150; // items or arms that are drawn one by one
const number = (value) => value.toLocaleString("en-US");
const short = (value) => (value === null || value === undefined ? "unknown"
  : typeof value === "string" ? value.replace("Infinity", "∞")
  : Math.abs(value) >= 1000 ? number(Math.round(value)) : String(+value.toPrecision(3)));
const percent = (value) => `${Math.round(100 * value)} %`;

function make(tag, given = {}, ...children) {
  const element = document.createElementNS(given.svg ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml", tag);
  for (const [name, value] of Object.entries(given)) {
    if (name === "text") element.textContent = value;
    else if (name !== "svg" && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function whole(entries) { // each entry has what differs from the one before
  let last = {};
  return entries.map((entry) => (last = { ...last, ...entry }));
}

for (const agent of data.agents) {
  agent.scenes = whole(agent.scenes);
  agent.beliefs = whole(agent.beliefs);
  agent.regret = agent.scenes.map((scene) => scene.regret_so_far);
  agent.ink = `color-mix(in oklab, ${agent.color}, white var(--mix))`;
}
const listed = data.agents.flatMap((agent) => agent.changes);
const structural = listed.filter((change) => change[1] === "structure");
const stops = [...new Set([...(structural.length ? structural : listed).map((change) => change[0]), ...data.epochs])]
  .filter((round) => shown.includes(round)).sort((a, b) => a - b);
let place = 0, timer = null, scale = null;

// -- where we are -----------------------------------------------------------------------------------------------------

function placeOf(round) { // of the last shown round that is not later
  let low = 0, high = shown.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (shown[middle] <= round) low = middle; else high = middle - 1;
  }
  return low;
}

function go(to, write = true, note = "") {
  place = Math.max(0, Math.min(shown.length - 1, to));
  const round = shown[place];
  $("moved").textContent = note;
  $("moved").hidden = note === "";
  $("slider").value = place;
  $("slider").setAttribute("aria-valuetext", `round ${number(round)} of ${number(data.rounds)}`);
  if (document.activeElement !== $("number")) $("number").value = round;
  $("back").disabled = place === 0;
  $("on").disabled = place === shown.length - 1;
  $("before").disabled = !stops.some((stop) => stop < round);
  $("next").disabled = !stops.some((stop) => stop > round);
  for (const agent of data.agents) drawAgent(agent);
  moveMarker();
  if (timer === null) $("said").textContent = spoken();
  if (write) history.replaceState(null, "", `#round=${round}`);
  document.body.dataset.round = round;
}

function goToRound(round) { go(placeOf(round)); }
function jump(direction) {
  const round = shown[place];
  const ahead = direction > 0 ? stops.filter((stop) => stop > round)[0] : stops.filter((stop) => stop < round).pop();
  if (ahead !== undefined) goToRound(ahead);
}

function pause() {
  clearInterval(timer);
  timer = null;
  $("play").textContent = "Play";
  $("said").textContent = spoken();
}

function play() {
  if (timer !== null) return pause();
  if (place === shown.length - 1) go(0);
  $("play").textContent = "Pause";
  timer = setInterval(() => {
    if (place === shown.length - 1) pause(); else go(place + 1);
  }, still.matches ? 1000 : 160);
}

function goToAsked(text) { // a round that somebody typed: if it is not shown, the page says so
  const value = /^\d+(\.\d+)?(e\d+)?$/i.test(text) ? Number(text) : NaN; // 1e3 is 1,000
  const asked = Number.isInteger(value) && value < 1e15 ? value : null;
  const to = asked === null ? place : placeOf(asked), there = number(shown[to]);
  if (asked === shown[to]) return go(to);
  const range = `allowed: 1 to ${number(data.rounds)}, such as “#round=${shown[to]}” in the address`;
  go(to, true, asked === null ? `“${text.slice(0, 40)}” is not a round; ${range}. This is round ${there}.`
    : asked < 1 || asked > data.rounds ? `There is no round ${number(asked)}; ${range}. This is round ${there}.`
    : `Round ${number(asked)} is not among the ${number(shown.length)} rounds shown. This is round ${there}, the last one shown before it.`);
}

function fromHash() {
  const found = /^#round=(.*)$/.exec(location.hash);
  if (found) goToAsked(found[1]); else go(0, false);
}

function spoken() { // for those who hear the page
  return `Round ${number(shown[place])}. ` + data.agents.map((agent) => {
    const scene = agent.scenes[place];
    const clicks = (scene.displayed || []).flatMap((one, k) => (one[3] ? [k + 1] : []));
    const what = data.kind === "duel" ? `arm ${scene.winner === 0 ? scene.left : scene.right} beats arm ${scene.winner === 0 ? scene.right : scene.left}`
      : `list ${scene.displayed.map((one) => one[0]).join(", ")}; ${clicks.length ? `clicks at ${clicks.join(", ")}` : "no clicks"}`;
    return `${agent.label}: ${what}; regret so far ${short(scene.regret_so_far)}.`;
  }).join(" ");
}

// -- one agent --------------------------------------------------------------------------------------------------------

function item(one, best, out) {
  return make("span", { class: `item${best ? " best" : ""}${out ? " out" : ""}`, text: String(one), ...(data.names[one] ? { title: data.names[one] } : {}) });
}

function named(one) { // the name of an item in imported fits, below its number; null without names
  return data.names[one] ? make("div", { class: "note", text: data.names[one] }) : null;
}

function meter(value, top, color, text) { // a cell with a bar behind its number
  const cell = make("td", { class: "meter", text });
  const share = typeof value === "string" ? 1 : value === null || !(top > 0) ? 0 : Math.max(0, Math.min(1, value / top));
  cell.style.backgroundImage = `linear-gradient(${color}, ${color})`;
  cell.style.backgroundSize = `${100 * share}% 72%`;
  return cell;
}

function table(caption, heads, rows) {
  return make("div", { class: "wide" }, make("table", {}, make("caption", { text: caption }),
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col", text })))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells)))));
}

const cell = (child) => (typeof child === "string" ? make("td", { text: child }) : make("td", {}, child));

function attracting(one, best) { // an item, and its attraction as a bar behind it
  const found = meter(one[1], 1, "var(--bar)", "");
  found.append(item(one[0], best), ` ${short(one[1])}`);
  found.append(named(one[0]) || "");
  return found;
}

function alone(scene) { // a ranking agent: its list is on both sides
  return data.kind === "interleaved" && scene.left.arm === null && String(scene.left.ranking) === String(scene.right.ranking);
}

function listTable(scene) {
  const best = scene.best || null;
  const good = new Set((best || []).map((one) => one[0]));
  const shares = !alone(scene) && scene.displayed.some((one) => one[4] !== null);
  const heads = ["", "shown", "click", "examined"];
  if (shares) heads.push("credit left");
  if (best) heads.push("best list");
  const size = Math.max(scene.displayed.length, best ? best.length : 0);
  const rows = Array.from({ length: size }, (_, k) => {
    const one = scene.displayed[k], cells = [make("th", { scope: "row", text: String(k + 1) })];
    if (one) {
      const clicked = make("span", one[3] ? { class: "click", text: "✓", "aria-label": "clicked", role: "img" } : { text: "–", "aria-label": "no click", role: "img" });
      cells.push(attracting(one, good.has(one[0])), cell(clicked), meter(one[2], 1, "var(--bar)", percent(one[2])));
      if (shares) cells.push(cell(one[4] === null ? "–" : percent(one[4])));
    } else cells.push(...heads.slice(1, shares ? 5 : 4).map(() => cell("–")));
    if (best) cells.push(best[k] ? attracting(best[k], true) : cell("–"));
    return cells;
  });
  const what = duels && !alone(scene) ? "The interleaved list" : "The list";
  return table(`${what} of round ${number(shown[place])}, from the top; beside each ${scene.what || "item"} its attraction`, heads, rows);
}

function side(scene, name, wins) {
  const value = scene[name], arms = data.kind === "duel";
  const lines = [make("div", { class: "note", text: name })];
  if (arms) lines.push(item(value, value === scene.best_arm), make("div", { class: "note", text: `gap ${short(scene.gaps[value])}` }),
    scene.arms[value] === value ? "" : make("div", { class: "note", text: `number ${scene.arms[value]} of the data set` }));
  else {
    if (value.arm !== null) lines.push(item(value.arm, value.arm === scene.best_arm), make("div", { class: "note", text: `feature ${value.feature} (“${value.feature + 1}:” in the file)` }));
    lines.push(make("div", { class: "note", text: `credit ${short(value.credit)}` }), make("div", { class: "note", text: `list ${value.ranking.join(", ")}` }));
    if (value.gap !== null) lines.push(make("div", { class: "note", text: `gap ${short(value.gap)}` }));
  }
  if (wins) lines.push(make("div", { class: "click", text: scene.tied ? "✓ wins (coin)" : "✓ wins" }));
  return make("div", wins ? { class: "winner" } : {}, ...lines);
}

function versus(scene) {
  if (alone(scene)) return [make("p", { class: "note", text: "Its list is on both sides of the duel, and is shown as it is." })];
  const chance = scene.left_beats_right;
  const parts = [make("div", { class: "versus" }, side(scene, "left", scene.winner === 0), make("span", { text: "against" }), side(scene, "right", scene.winner === 1))];
  if (data.credit) parts.push(make("p", { class: "note", text: data.credit }));
  if (chance !== null) parts.push(make("p", { class: "note", text: `Left beats right with probability ${short(chance)}.` }));
  return parts;
}

function believed(agent) {
  const found = agent.beliefs[place], scene = agent.scenes[place];
  if (found.blocks === undefined) return [make("p", { class: "note", text: "This agent does not say what it believes." })];
  const thing = data.thing, parts = [];
  const good = new Set(scene.best ? scene.best.map((one) => one[0]) : scene.best_arm === null ? [] : [scene.best_arm]);
  const chips = (items, out) => [...items.slice(0, CHIPS).map((one) => item(one, good.has(one), out)),
    ...(items.length > CHIPS ? [`and ${number(items.length - CHIPS)} more`] : [])];
  if (found.champion !== null) parts.push(make("p", {}, `Names as the best ${thing}: `, item(found.champion, good.has(found.champion))));
  parts.push(...tied(found));
  if (found.base_list.length) parts.push(make("p", { class: "note", text: "Base list, best first:" }), make("div", { class: "blocks" }, ...chips(found.base_list)));
  if (found.blocks.length) {
    const several = found.blocks.length > 1, order = found.ordered ? "best first" : "in no order";
    parts.push(make("p", { class: "note", text: several ? `${found.blocks.length} blocks, ${order}:` : found.out.length ? "Still in:" : `One block, in which no ${thing} is known to be better:` }),
      make("div", { class: "blocks" }, ...found.blocks.flatMap((block, k) => [...(k && found.ordered ? ["›"] : []), make("span", { class: "block" }, ...chips(block))])));
  }
  if (found.out.length) parts.push(make("p", { class: "note", text: "Given up:" }), make("div", { class: "blocks" }, ...chips(found.out, true)));
  const names = Object.keys(found.scores);
  if (names.length) parts.push(scoreTable(found, scene, names, good));
  return parts.length ? parts : [make("p", { class: "note", text: "Nothing so far." })];
}

function tied(found) { // the best one named has the largest of the first scores, and so have others
  const [name] = Object.keys(found.scores), values = name === undefined ? [] : found.scores[name];
  const own = values[found.scored.indexOf(found.champion)];
  if (found.champion === null || typeof own !== "number" || values.some((value) => value === "Infinity" || value > own)) return [];
  const others = found.scored.filter((one, place) => one !== found.champion && values[place] === own);
  if (!others.length) return [];
  const named = others.length > 5 ? `${others.length} others` : `${data.thing}${others.length > 1 ? "s" : ""} ${others.join(", ")}`;
  return [make("p", { class: "note", text: `A tie: ${named} ${others.length > 1 ? "have" : "has"} the same “${name}”. The agent's rule for ties, often a draw, decides which one is named.` })];
}

function scoreTable(found, scene, names, good) {
  const items = found.scored, out = new Set(found.out);
  const displayed = new Set(data.kind === "duel" ? [scene.left, scene.right] : scene.left && scene.left.arm !== null ? [scene.left.arm, scene.right.arm] : (scene.displayed || []).map((one) => one[0]));
  const tops = names.map((name) => Math.max(...found.scores[name].filter((value) => typeof value === "number"), 1e-9));
  const common = names.length > 1 ? Math.max(...tops) : null; // columns of one table have one scale
  const truth = data.kind === "ranking" || scene.attraction ? scene.attraction : scene.gaps;
  const heads = [data.thing, ...names.map((name) => name.replace(/^probability at position /, "prob. at "))];
  if (truth) heads.push(scene.attraction ? "true attraction" : "true gap");
  const rows = items.map((one, place) => [
    make("th", { scope: "row" }, item(one, good.has(one), out.has(one)), displayed.has(one) ? " ◂" : "", named(one)),
    ...names.map((name, k) => {
      const value = found.scores[name][place];
      return meter(value, common ?? Math.max(tops[k], tops[k] <= 1 ? 1 : 0), "var(--belief)", short(value));
    }),
    ...(truth ? [meter(truth[one], Math.max(1e-9, scene.attraction ? 1 : Math.max(...truth)), "var(--bar)", short(truth[one]))] : []),
  ]);
  const many = found.total > items.length ? ` (the ${items.length} largest of ${number(found.total)})` : "";
  return table(`Scores of the ${data.thing}s${many}; ◂ was in this round`, heads, rows);
}

function drawAgent(agent) {
  const scene = agent.scenes[place];
  const facts = [`regret so far ${short(scene.regret_so_far)}`, `of this round ${short(scene.regret)}`];
  if (scene.epoch !== undefined && scene.epoch !== null) facts.push(`users of epoch ${scene.epoch}`);
  if (scene.query !== undefined && scene.query !== null) facts.push(`query ${scene.query}${data.query_name ? ` (${data.query_name})` : ""}`);
  if (scene.misordered !== undefined && scene.misordered !== null) facts.push(`${scene.misordered} ${scene.misordered === 1 ? "pair" : "pairs"} out of order`);
  const parts = [make("p", { class: "note", text: facts.join(" · ") })];
  if (duels) parts.push(...versus(scene));
  if (scene.displayed) parts.push(listTable(scene));
  parts.push(make("h3", { text: "What it believes after this round" }), ...believed(agent));
  agent.body.replaceChildren(...parts);
  for (const button of agent.buttons) {
    const round = Number(button.dataset.round), now = round === shown[place];
    button.classList.toggle("past", round < shown[place]);
    button.classList.remove("latest");
    if (now) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
  }
  Object.values(agent.lists).forEach(showLatest);
}

function showLatest(list) { // scroll the list, never the page, to the last change up to this round
  const latest = [...list.querySelectorAll("button")].filter((button) => Number(button.dataset.round) <= shown[place]).pop();
  if (latest) latest.classList.add("latest");
  const above = latest ? latest.parentElement.offsetTop - list.offsetTop : 0;
  list.scrollTop = latest ? above - (list.clientHeight - latest.offsetHeight) / 2 : 0;
}

function line(agent) { // of the legend: colour and dashes, as in the chart
  const svg = make("svg", { svg: true, width: 48, height: 12, "aria-hidden": "true" });
  svg.append(curve(agent, "M1 6H47"));
  if (agent.marker) svg.append(markerAt(agent, 24, 6));
  return svg;
}

function curve(agent, d) {
  const path = make("path", { svg: true, class: "curve", d, "stroke-dasharray": agent.dashes.join(" ") || null, "stroke-dashoffset": agent.dash_offset });
  path.style.stroke = agent.ink;
  return path;
}

function markerAt(agent, x, y) {
  const path = make("path", { svg: true, class: "marker", d: agent.marker, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
  path.style.fill = agent.ink;
  return path;
}

function setUpAgent(agent) {
  agent.body = make("div");
  agent.lists = { structure: make("ul", { class: "changes" }), champion: make("ul", { class: "changes" }) };
  agent.buttons = agent.changes.map(([round, kind, text]) => {
    const button = make("button", { type: "button", "data-round": round, text: `round ${number(round)}: ${text}` });
    button.addEventListener("click", () => goToRound(round));
    agent.lists[kind].append(make("li", {}, button));
    return button;
  });
  const kinds = { structure: "changes of beliefs", champion: `changes of the best ${data.thing} named` };
  const more = Object.entries(agent.left_out).map(([kind, count]) => `${number(count)} more ${kinds[kind] || kind}`);
  const parts = [make("h2", {}, line(agent), make("span", { text: `${data.agents.indexOf(agent) + 1} ${agent.label}` })), agent.body];
  const heads = { structure: "Changes of beliefs", champion: `Changes of the best ${data.thing} named` };
  let open = ""; // the first list only
  for (const [kind, list] of Object.entries(agent.lists)) {
    if (!list.childElementCount) continue;
    const box = make("details", { open }, make("summary", { text: `${heads[kind]} (${number(list.childElementCount)})` }), list);
    box.addEventListener("toggle", () => showLatest(list)); // nothing scrolls while it is closed
    parts.push(box);
    open = null;
  }
  if (!agent.changes.length && agent.beliefs[0].blocks !== undefined) parts.push(make("p", { class: "note", text: "No change of beliefs in this episode: scores alone are not listed." }));
  if (more.length) parts.push(make("p", { class: "note", text: `Not listed: ${more.join(", ")}. Listed are the first ones between 1, 10, 100, 1,000, … rounds.` }));
  const card = make("section", { class: "card", "aria-label": agent.label }, ...parts);
  card.style.borderTopColor = agent.ink;
  $("agents").append(card);
}

// -- the curves -------------------------------------------------------------------------------------------------------

function ticks(low, high, about) {
  const raw = (high - low) / about, unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((digit) => digit * unit).find((one) => one >= raw);
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, k) => k * step).filter((value) => value >= low);
}

function compact(value) {
  return value >= 1e6 ? `${+(value / 1e6).toPrecision(3)}M` : value >= 1e4 ? `${+(value / 1e3).toPrecision(3)}k` : String(+value.toPrecision(3));
}

function markerRounds(agent, across, left, right) { // where a curve has its markers: elsewhere than the others have theirs
  if (!agent.marker) return [];
  const many = data.agents.length, found = [];
  for (let x = left + ((right - left) * (data.agents.indexOf(agent) + 1)) / (5 * (many + 1)); x < right; x += (right - left) / 5) {
    let at = shown.findIndex((round) => across(round) >= x);
    if (at > 0 && x - across(shown[at - 1]) < across(shown[at]) - x) at -= 1;
    if (typeof agent.regret[at] === "number" && !found.includes(at)) found.push(at);
  }
  return found;
}

function endMarks(down, low, top, bottom) { // [y, numbers] from above, apart from each other; equal curves share a mark
  const marks = [];
  data.agents.forEach((agent, k) => {
    const y = down(agent.regret[agent.regret.length - 1] ?? low), same = marks.find((mark) => mark[0] === y);
    if (same) same[1] += `,${k + 1}`; else marks.push([y, String(k + 1)]);
  });
  marks.sort((a, b) => a[0] - b[0]);
  marks.forEach((mark, k) => { mark[0] = Math.max(mark[0], k ? marks[k - 1][0] + 12 : top); });
  for (let k = marks.length - 1; k >= 0; k -= 1) marks[k][0] = Math.min(marks[k][0], k + 1 < marks.length ? marks[k + 1][0] - 12 : bottom);
  return marks;
}

function drawChart() {
  const box = $("chart"), width = Math.max(260, box.clientWidth), height = width < 560 ? 210 : 260;
  const left = 46, right = 26 + 8 * (data.agents.length - new Set(data.agents.map((agent) => agent.regret.at(-1))).size), top = 10, bottom = 36, log = $("log").checked;
  const values = data.agents.flatMap((agent) => agent.regret).filter((value) => typeof value === "number");
  if (!values.length) { // without a preference matrix
    scale = null;
    $("chart-note").textContent = "";
    $("log").parentElement.hidden = true; // there is no chart
    box.replaceChildren(make("p", { class: "note", text: "The regret is unknown: give the environment a matrix, by its argument preferences." }));
    return;
  }
  const low = Math.min(0, ...values), high = Math.max(...values) || 1;
  const start = log ? 1 : 0, end = Math.max(data.rounds, 2);
  const across = (round) => left + (width - left - right) * (log ? Math.log(round / start) / Math.log(end / start) : (round - start) / (end - start));
  const down = (value) => top + (height - top - bottom) * (1 - (value - low) / (high - low));
  const svg = make("svg", { svg: true, viewBox: `0 0 ${width} ${height}`, height, role: "img", id: "curves" });
  const add = (tag, given, text) => { const made = make(tag, { svg: true, ...given }); if (text !== undefined) made.textContent = text; svg.append(made); return made; };
  for (const value of ticks(low, high, 4)) {
    add("line", { class: "grid", x1: left, x2: width - right, y1: down(value), y2: down(value) });
    add("text", { x: left - 6, y: down(value) + 4, "text-anchor": "end" }, compact(value));
  }
  const marks = log ? Array.from({ length: Math.floor(Math.log10(end)) + 1 }, (_, k) => 10 ** k) : ticks(0, end, width < 560 ? 4 : 8);
  for (const value of marks) {
    add("line", { class: "grid", x1: across(value), x2: across(value), y1: top, y2: height - bottom });
    add("text", { x: across(value), y: height - bottom + 16, "text-anchor": across(value) > width - 40 ? "end" : "middle" }, compact(value));
  }
  add("text", { x: width - right, y: height - 4, "text-anchor": "end" }, log ? "round (logarithmic)" : "round");
  for (const round of data.epochs.slice(0, 200)) add("line", { class: "epoch", x1: across(round), x2: across(round), y1: top, y2: height - bottom });
  for (const agent of data.agents) {
    let path = "";
    agent.regret.forEach((value, k) => { if (typeof value === "number") path += `${path ? "L" : "M"}${across(shown[k]).toFixed(1)} ${down(value).toFixed(1)}`; });
    svg.append(curve(agent, path || "M0 0"));
    for (const at of markerRounds(agent, across, left, width - right)) svg.append(markerAt(agent, across(shown[at]), down(agent.regret[at])));
    for (const [round, kind] of agent.changes) {
      const value = agent.regret[placeOf(round)];
      if (kind === "structure" && typeof value === "number") add("circle", { class: "ring", cx: across(round), cy: down(value), r: 3 }).style.stroke = agent.ink;
    }
  }
  // at its end, each curve has the number of its agent: colours do not survive a grey print
  for (const [y, text] of endMarks(down, low, top + 4, height - bottom)) add("text", { class: "mark", x: width - right + 6, y: y + 4 }, text);
  scale = { across, down, marker: add("line", { class: "now", y1: top, y2: height - bottom }), svg, left, right, width, log, start, end };
  scale.dots = data.agents.map((agent) => { const dot = add("circle", { r: 5 }); dot.style.fill = agent.ink; return dot; });
  svg.addEventListener("click", (event) => {
    const frame = svg.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, ((event.clientX - frame.left) * (width / frame.width) - left) / (width - left - right)));
    goToRound(Math.round(log ? start * (end / start) ** share : start + share * (end - start)));
  });
  box.replaceChildren(svg);
  moveMarker();
}

function moveMarker() {
  if (scale === null) return;
  const round = shown[place], x = scale.across(round);
  scale.marker.setAttribute("x1", x);
  scale.marker.setAttribute("x2", x);
  data.agents.forEach((agent, k) => {
    const value = agent.regret[place], known = typeof value === "number";
    scale.dots[k].setAttribute("visibility", known ? "visible" : "hidden");
    if (known) { scale.dots[k].setAttribute("cx", x); scale.dots[k].setAttribute("cy", scale.down(value)); }
  });
  scale.svg.setAttribute("aria-label", `Curves of the regret so far. After round ${number(round)}: ` + data.agents.map((agent) => `${agent.label} ${short(agent.regret[place])}`).join(", "));
}

// -- the page ---------------------------------------------------------------------------------------------------------

function setUpText() {
  const given = Object.entries(data.arguments).map(([name, value]) => `${name} = ${value}`);
  const unit = (duels ? "duel" : "user session") + (data.rounds === 1 ? "" : "s");
  $("title").textContent = `${data.agents.map((agent) => agent.label).join(", ")} in ${data.environment}`;
  const whole = shown.length === data.rounds;
  $("about").textContent = [`${number(data.rounds)} ${unit}, all agents with the same users`, ...given, `seed ${data.seed}`].join(" · ") +
    (whole ? "" : ` · ${number(shown.length)} rounds are shown: the first ones, some of the later ones, and each one in which a listed change happens`);
  for (const note of data.notes) $("notes").append(make("p", { class: "remark", text: `${note}.` }));
  $("of").textContent = `of ${number(data.rounds)}`;
  $("number").max = data.rounds;
  $("slider").max = shown.length - 1;
  for (const agent of data.agents) $("legend").append(make("span", {}, line(agent), `${data.agents.indexOf(agent) + 1} ${agent.label}`));
  $("chart-note").textContent = "A click on the chart goes to that round." + (structural.length ? " Rings: changes of an agent's beliefs." : "") +
    (data.epochs.length ? ` Dotted lines: users change, for the first time in round ${number(data.epochs[0])}.` : "");
  const beliefs = "an agent's blocks, base list or "+ (data.thing === "arm" ? "arms" : "items") + " given up change (scores alone do not count)";
  const what = [structural.length ? beliefs : listed.length ? `an agent names another ${data.thing} the best` : "", data.epochs.length ? "users change" : ""].filter(Boolean).join(", or in which ");
  $("stops").textContent = stops.length ? `“◀ change” and “change ▶” go to the ${stops.length === 1 ? "round" : `${number(stops.length)} rounds`} in which ${what}.`
    : "There is no change to go to in this episode.";
  const any = (name) => data.agents.some((agent) => agent.scenes.some((scene) => scene[name] !== undefined && scene[name] !== null));
  const lines = [
    ["Rounds are counted from 1: round 1 is the first session. (In an environment's info and arguments they are counted from 0.) Items and arms are counted from 0."],
    ["Everything but beliefs is the truth, which agents never see. “Examined” is the probability that a user examines the position, by the click model; “attraction” that of a click then."],
    [data.kind === "duel" ? "Regret of a round: how much worse its arms are than the best one, by their gaps." + (data.agents[0].scenes[0].best_by === "condorcet" ? " An arm's gap is the probability that the best arm beats it, less ½." : "")
      : duels ? "Regret of a round: how much worse its two lists or rankers are than the best one." : "Regret of a round: the expected reward of the best list, less that of the list shown."],
    ...(any("misordered") ? [["Pairs out of order: pairs of items of which the less attractive one stands above the more attractive one. Items that are not shown stand below all others. 0 is the best."]] : []),
    ...(data.kind === "duel" ? [["Problem: the number, from 0, of one of the environment's preference matrices. All agents play this one."]] : []),
    ...(any("epoch") ? [["Users of epoch 0 are the first ones; each time users change, the next epoch begins. Epochs are counted from 0, rounds from 1: an epoch that begins after 10,000 rounds begins in round 10,001."]] : []),
    ...(any("query") ? [["Query: the number, from 0, of what users search for. Each has items and attractions of its own."]] : []),
    ["Best one named: what the agent would answer now if asked for the best. If several are tied, its rule for ties decides, often a draw; then the name can change though little was learned."],
    ["Framed in bold and green: items of the best list, or the best arm. Struck through: given up by the agent."],
    ["Beliefs are those after learning from the round's clicks or winner: the list or pair shown was chosen before that."],
    ["Changes of beliefs: blocks split or join, a base list is reordered, items or arms are given up. Scores change in nearly every round and are not listed."],
    ["Keys: ", "←", " ", "→", " one shown round; ", "Page Up", " ", "Page Down", ` ${PAGE}; `, "Home", " ", "End", " first and last; ", "Space", " play and pause; ", "n", " ", "p", " “change ▶” and “◀ change”. The slider and the chart work by touch."],
  ];
  const keys = new Set(["←", "→", "Page Up", "Page Down", "Home", "End", "Space", "n", "p"]);
  for (const parts of lines) $("help").append(make("p", {}, ...parts.map((part) => (keys.has(part) ? make("kbd", { text: part }) : part))));
}

const KEYS = {
  ArrowLeft: () => go(place - 1), ArrowDown: () => go(place - 1), ArrowRight: () => go(place + 1), ArrowUp: () => go(place + 1),
  PageUp: () => go(place - PAGE), PageDown: () => go(place + PAGE), Home: () => go(0), End: () => go(shown.length - 1),
  " ": play, n: () => jump(1), p: () => jump(-1),
};

document.addEventListener("keydown", (event) => {
  const at = event.target, typing = at.id === "number";
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS) || typing) return;
  if (event.key === " " && (at.tagName === "BUTTON" || at.tagName === "SUMMARY" || at.type === "checkbox")) return;
  if ((event.key === "ArrowUp" || event.key === "ArrowDown") && at.id !== "slider") return; // they scroll
  event.preventDefault();
  KEYS[event.key]();
});
$("slider").addEventListener("input", () => go(Number($("slider").value)));
$("number").addEventListener("change", () => {
  if ($("number").value) goToAsked($("number").value);
  $("number").value = shown[place];
});
$("number").addEventListener("blur", () => { $("number").value = shown[place]; });
$("back").addEventListener("click", () => go(place - 1));
$("on").addEventListener("click", () => go(place + 1));
$("before").addEventListener("click", () => jump(-1));
$("next").addEventListener("click", () => jump(1));
$("play").addEventListener("click", play);
$("log").addEventListener("change", drawChart);
window.addEventListener("hashchange", fromHash);
window.addEventListener("resize", drawChart);

setUpText();
data.agents.forEach(setUpAgent);
$("log").checked = data.rounds > 1000;
fromHash();
drawChart();
