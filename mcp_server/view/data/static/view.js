// Keys, the search field, lists that unfold, saved pictures, and pages that follow the graph. Pages work without it.
const prefix = document.body.dataset.prefix;
const main = document.querySelector("main");
const field = document.querySelector("#search input");
const list = document.querySelector("#results");

// The search field: results while one types, arrows and Enter.
let asked = 0;
let results = [];
let chosen = -1;

function show(found) {
  results = found;
  chosen = -1;
  list.replaceChildren(...found.map((one, at) => {
    const row = document.createElement("li");
    const place = document.createElement("span");
    row.id = `result-${at}`;
    row.role = "option";
    row.ariaSelected = "false";
    place.className = "place";
    place.textContent = ` ${one.kind} ${one.place}`;
    row.append(one.title, place);
    row.addEventListener("mousedown", (event) => { event.preventDefault(); location.href = one.address; });
    return row;
  }));
  list.hidden = !found.length;
  field.ariaExpanded = String(!list.hidden);
  field.removeAttribute("aria-activedescendant");
}

function choose(step) {
  if (!results.length) return;
  chosen = (chosen + step + results.length + 1) % (results.length + 1);
  if (chosen === results.length) chosen = step > 0 ? 0 : results.length - 1;
  [...list.children].forEach((row, at) => { row.ariaSelected = String(at === chosen); });
  list.children[chosen].scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", `result-${chosen}`);
}

field.addEventListener("input", async () => {
  const number = ++asked;
  await new Promise((done) => setTimeout(done, 120));
  if (number !== asked) return;
  const text = field.value.trim();
  const reply = text ? await fetch(`${prefix}/quick?q=${encodeURIComponent(text)}`) : null;
  const found = reply?.ok ? await reply.json() : [];
  if (number === asked) show(found);
});
field.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    choose(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter" && chosen >= 0) {
    event.preventDefault();
    location.href = results[chosen].address;
  } else if (event.key === "Escape") {
    if (list.hidden) field.blur();
    show([]);
  }
});
field.addEventListener("blur", () => show([]));

// Keys. Those of a page (`data-press`) click its element.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const target = document.querySelector(`[data-press~="${CSS.escape(event.key)}"]`)
    ?? document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (event.key === "/") {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (target) {
    event.preventDefault();
    target.click();
  }
});

// Rows that unfold, pictures that are saved, edges that appear on pointing.
async function unfold(button) {
  const open = button.ariaExpanded !== "true";
  const row = button.closest("li");
  let inner = row.querySelector(":scope > ul");
  if (open && !inner) {
    const name = button.dataset.name.split("/").map(encodeURIComponent).join("/");
    const reply = await fetch(`${prefix}/part/${button.dataset.part}/${name}`);
    inner = document.createElement("ul");
    inner.className = "rows";
    inner.append(...new DOMParser().parseFromString(await reply.text(), "text/html").body.childNodes);
    row.append(inner);
  }
  if (inner) inner.hidden = !open;
  button.ariaExpanded = String(open);
}

async function more(button) {
  const name = button.dataset.name.split("/").map(encodeURIComponent).join("/");
  const reply = await fetch(`${prefix}/part/${button.dataset.more}/${name}?from=${button.dataset.from}`);
  const rows = new DOMParser().parseFromString(await reply.text(), "text/html").body;
  const first = rows.querySelector("a, button");
  button.closest("li").replaceWith(...rows.childNodes);
  first?.focus();
}

function save(figure, format) {
  const picture = figure.querySelector("svg");
  const blob = new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
  const offer = (data) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(data);
    link.download = `${figure.dataset.name.replace(/[^\w.-]+/g, "-")}.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  if (format === "svg") return offer(blob);
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = document.createElement("canvas");
    const { width, height } = picture.viewBox.baseVal;
    canvas.width = width * 2;
    canvas.height = height * 2;
    const context = canvas.getContext("2d");
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(image.src);
    canvas.toBlob(offer, "image/png");
  });
  image.src = URL.createObjectURL(blob);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.act) act(button);
  else if (button?.dataset.part) unfold(button);
  else if (button?.dataset.more) more(button);
  else if (button?.dataset.save) save(button.closest("figure"), button.dataset.save);
});

function point(event) {
  const node = event.target.closest?.("[data-node]");
  const name = event.type === "focusout" ? undefined : node?.dataset.node;
  for (const edge of document.querySelectorAll("[data-from]")) {
    edge.classList.toggle("shown", name !== undefined && (edge.dataset.from === name || edge.dataset.to === name));
  }
}
for (const type of ["pointerover", "focusin", "focusout"]) document.addEventListener(type, point);

// The review: j and k move, a, e and x decide. A text is sent with the digest of the code that it is about.
async function act(button) {
  const item = button.closest("article");
  const area = item.querySelector("textarea");
  let action = button.dataset.act;
  if (action === "rewrite" && area.hidden) {
    area.hidden = false;
    area.value = item.querySelector(".text")?.textContent ?? "";
    button.textContent = "Save (Ctrl-Enter)";
    return area.focus();
  }
  const { level, subject, digest, proposal } = item.dataset;
  const text = area && (area.hidden ? item.querySelector(".text")?.textContent ?? "" : area.value);
  const body = proposal ? { action, proposal } : { action, level, subject, digest, text };
  const reply = await fetch(`${prefix}/review`, { method: "POST", body: JSON.stringify(body) });
  const { message } = await reply.json();
  item.querySelector("[role=status]").textContent = message;
  item.classList.toggle("failed", !reply.ok);
  if (!reply.ok) return;
  item.classList.add("done");
  item.querySelectorAll("button, textarea").forEach((one) => { one.disabled = true; });
  move(item, 1);
}

function move(from, step) {
  const items = [...document.querySelectorAll("article.review")];
  const at = items.indexOf(from);
  (items[at < 0 ? 0 : at + step] ?? from)?.focus();
}

document.addEventListener("keydown", (event) => {
  const item = document.activeElement?.closest("article.review");
  if (event.target.matches("textarea")) {
    if (event.key === "Enter" && event.ctrlKey) item?.querySelector("[data-act=rewrite]").click();
    if (event.key === "Escape") item?.focus();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
  const action = { a: "accept", e: "rewrite", x: "reject" }[event.key];
  if (event.key === "j" || event.key === "k") move(item, event.key === "j" ? 1 : -1);
  else if (item && action) item.querySelector(`[data-act=${action}]:enabled`)?.click();
  else if (item && event.key === "o") item.querySelector("summary")?.click();
  else return;
  event.preventDefault();
});

// What is loaded when it is unfolded.
document.addEventListener("toggle", async (event) => {
  const place = event.target.matches("[data-load]") && event.target.querySelector("div:empty");
  if (!place) return;
  place.textContent = "…";
  const reply = await fetch(event.target.dataset.load);
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  place.replaceChildren(...(page.querySelector("main") ?? page.body).childNodes);
}, true);

// The query: Tab completes a word that is begun, Ctrl-Enter runs it.
document.addEventListener("keydown", (event) => {
  const area = event.target;
  if (!area.dataset?.words) return;
  const begun = /[A-Za-z_]+$/.exec(area.value.slice(0, area.selectionStart))?.[0];
  if (event.key === "Enter" && event.ctrlKey) area.form.requestSubmit();
  if (event.key !== "Tab" || event.shiftKey || !begun) return;
  const fitting = area.dataset.words.split(" ").filter((word) => word.toLowerCase().startsWith(begun.toLowerCase()));
  const hint = document.getElementById(area.getAttribute("aria-describedby"));
  if (!fitting.length || fitting.includes(begun)) return;
  event.preventDefault();
  let common = fitting[0];
  for (const word of fitting) while (!word.startsWith(common)) common = common.slice(0, -1);
  if (common.length >= begun.length) area.setRangeText(common, area.selectionStart - begun.length, area.selectionStart, "end");
  hint.textContent = fitting.length > 1 ? fitting.join(" ") : `Completed: ${common}`;
});

// The middle of a picture that is wider than the window is what it is about.
function centre() {
  for (const one of document.querySelectorAll(".drawing .scroll")) one.scrollLeft = (one.scrollWidth - one.clientWidth) / 2;
}
centre();

// The page follows the graph: when it has changed, the content is fetched again and replaced in place.
const status = document.querySelector(".state");

async function follow() {
  if (document.hidden) return;
  const reply = await fetch(`${prefix}/state`).catch(() => null);
  if (!reply?.ok) return;
  const { state } = await reply.json();
  // A page where somebody is writing or deciding stays as it is.
  if (state === document.body.dataset.state || main.querySelector("article.review, textarea")) return;
  const page = await fetch(location.href).catch(() => null);
  if (!page?.ok) return;
  const fresh = new DOMParser().parseFromString(await page.text(), "text/html");
  document.body.dataset.state = fresh.body.dataset.state;
  const position = [scrollX, scrollY];
  main.replaceChildren(...fresh.querySelector("main").childNodes);
  scrollTo(...position);
  centre();
  main.classList.remove("fresh");
  requestAnimationFrame(() => main.classList.add("fresh"));
  status.textContent = fresh.querySelector(".state").textContent || "The graph has changed; this page was refreshed.";
}
if (prefix) setInterval(follow, 2000);
