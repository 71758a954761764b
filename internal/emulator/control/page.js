"use strict";

// Everything from the server is shown as text: no string becomes HTML here.

const $ = (id) => document.getElementById(id);
const most = 10000; // requests in the list
const rowHeight = 30;

let world = "";
let tab = "requests";

// api calls the control API, and returns the response as JSON.
async function api(method, path, body) {
	const headers = world ? { "X-Emulator-World": world } : {};
	if (body !== undefined) headers["Content-Type"] = "application/json";
	const response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
	const value = response.status === 204 ? null : await response.json();
	if (!response.ok) throw new Error(value.message);
	return value;
}

// attempt does something and shows why it fails.
async function attempt(action) {
	try {
		await action();
		$("problem").textContent = "";
	} catch (err) {
		$("problem").textContent = err.message;
	}
}

// element returns an element with a class and children, which are elements or texts.
function element(name, className, ...children) {
	const e = document.createElement(name);
	if (className) e.className = className;
	e.append(...children.filter((c) => c !== undefined && c !== ""));
	return e;
}

// button returns a button that does something and then shows the part of the page anew.
function button(text, action, className) {
	const b = element("button", className, text);
	b.type = "button";
	b.addEventListener("click", () => attempt(async () => {
		await action();
		await refresh();
	}));
	return b;
}

// Requests

let all = []; // summaries, the oldest first
let shown = []; // those of them that the filter selects
let selected = 0; // number of a request
let dropped = 0;
let drawing = false;

function selects(q) {
	const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
	const text = `${q.operation} ${q.method} ${q.path} ${q.status} ${q.rule ?? ""}`.toLowerCase();
	return (!$("refused").checked || q.rule) && words.every((w) => text.includes(w));
}

function applyFilter() {
	shown = all.filter(selects);
	draw();
}

// addRequests adds requests that were just answered, and keeps the place of the reader.
function addRequests(list) {
	if (!list.length) return;
	all.push(...list);
	const fresh = list.filter(selects);
	shown.push(...fresh);
	if (all.length > most * 1.1) {
		all = all.slice(-most);
		shown = shown.filter((q) => q.number >= all[0].number);
	}
	const away = $("list").scrollTop > 0;
	draw();
	if (away) $("list").scrollTop += fresh.length * rowHeight;
}

// draw draws the rows in view, once per frame.
function draw() {
	if (drawing) return;
	drawing = true;
	requestAnimationFrame(() => {
		drawing = false;
		const list = $("list"), rows = $("rows");
		rows.style.height = `${shown.length * rowHeight}px`;
		const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 5);
		const last = Math.min(shown.length, first + Math.ceil(list.clientHeight / rowHeight) + 10);
		const drawn = [];
		for (let i = first; i < last; i++) drawn.push(row(i));
		rows.replaceChildren(...drawn);
		const lost = dropped ? `, ${dropped} not shown` : "";
		$("count").textContent = `${shown.length} of ${all.length}${lost}`;
		if (rows.querySelector("[aria-selected=true]")) list.setAttribute("aria-activedescendant", `r${selected}`);
		else list.removeAttribute("aria-activedescendant");
	});
}

// row returns the row at a place; the latest request is at 0.
function row(i) {
	const q = shown[shown.length - 1 - i];
	const e = element("div", "row",
		element("span", `status ${q.status >= 400 || !q.status ? "bad" : "good"}`, String(q.status || "–")),
		element("span", "op", q.operation || "unknown path"), element("span", "path", `${q.method} ${q.path}`),
		element("span", "rule", q.rule ?? (q.fault ? `fault ${q.fault}` : "")), element("span", "took", q.took));
	e.id = `r${q.number}`;
	e.style.top = `${i * rowHeight}px`;
	e.setAttribute("role", "option");
	e.setAttribute("aria-selected", String(q.number === selected));
	e.addEventListener("click", () => choose(q.number));
	return e;
}

// choose shows a request beside the list.
function choose(number) {
	selected = number;
	draw();
	attempt(async () => {
		const q = number && await api("GET", `requests/${number}`);
		if (number !== selected) return;
		$("detail").hidden = !q;
		if (q) showDetail(q);
	});
}

function showDetail(q) {
	const copied = element("span", "quiet");
	const copy = element("button", "main", "Copy as curl");
	copy.type = "button";
	copy.addEventListener("click", async () => {
		const text = curl(q);
		try {
			await navigator.clipboard.writeText(text);
			copied.textContent = "copied";
		} catch {
			copied.replaceChildren(element("pre", "", text)); // to be copied by hand
		}
	});
	const close = element("button", "", "Close");
	close.type = "button";
	close.addEventListener("click", () => {
		$("detail").hidden = true;
		$("list").focus();
	});
	const query = q.query ? `?${q.query}` : "";
	$("detail").replaceChildren(
		element("h2", "", `${q.method} ${q.path}${query}`),
		element("p", q.rule ? "bad" : "good", `${q.status || "not completed"} ${q.operation || "unknown path"}, ${q.took}`),
		q.rule ? element("p", "bad", `Refused by ${q.rule}: ${q.message}`) : "",
		q.fault ? element("p", "bad", `Fault ${q.fault}`) : "",
		element("div", "line", copy, close, copied),
		...part("Request", q.request_header, q.request_body), ...part("Response", q.response_header, q.response_body));
	$("detail").scrollTop = 0;
}

// part returns a header and a body.
function part(title, header, body) {
	const lines = Object.entries(header ?? {}).sort().flatMap(([name, values]) => values.map((v) => `${name}: ${v}`));
	const list = [];
	if (lines.length) list.push(element("h3", "", `${title} header`), element("pre", "", lines.join("\n")));
	const text = body?.binary ? `base64 ${body.binary}` : pretty(body?.text ?? "");
	if (text) {
		const cut = body.truncated ? ", its beginning" : "";
		list.push(element("h3", "", `${title} body${cut}`), element("pre", "", text));
	}
	return list;
}

function pretty(text) {
	try {
		return JSON.stringify(JSON.parse(text), null, 2);
	} catch {
		return text;
	}
}

// curl returns a command that sends a request again, with the key in a variable.
function curl(q) {
	const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
	const left = /^(authorization|cookie|host|content-length|accept-encoding|connection|user-agent|sec-|x-ve-password)/i;
	const words = ["curl", "-X", q.method, quote(`${location.origin}${q.path}${q.query ? `?${q.query}` : ""}`)];
	for (const [name, values] of Object.entries(q.request_header)) {
		if (/^authorization$/i.test(name)) words.push("-H", `"Authorization: Bearer $FASTIO_API_KEY"`);
		else if (!left.test(name)) for (const value of values) words.push("-H", quote(`${name}: ${value}`));
	}
	if (q.request_body?.text) words.push("--data-raw", quote(q.request_body.text));
	return words.join(" ");
}

$("list").addEventListener("scroll", draw);
$("list").addEventListener("keydown", (e) => {
	const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity }[e.key];
	if (step === undefined || !shown.length) return;
	e.preventDefault();
	const at = shown.length - 1 - shown.findIndex((q) => q.number === selected);
	const next = at === shown.length ? 0 : Math.min(shown.length - 1, Math.max(0, at + step));
	const top = next * rowHeight, list = $("list");
	if (top < list.scrollTop) list.scrollTop = top;
	if (top + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = top + rowHeight - list.clientHeight;
	choose(shown[shown.length - 1 - next].number);
});
$("filter").addEventListener("input", applyFilter);
$("refused").addEventListener("change", applyFilter);
$("requests").querySelector("form").addEventListener("submit", (e) => e.preventDefault());
$("clear").addEventListener("click", () => attempt(async () => {
	await api("DELETE", "requests");
	[all, shown, dropped] = [[], [], 0];
	choose(0);
}));
new ResizeObserver(draw).observe($("list"));

let streams = 0; // opened so far; only the last one is read

// follow reads the stream of requests until another world is chosen.
async function follow() {
	const own = ++streams;
	for (let after = 0; own === streams; await new Promise((done) => setTimeout(done, 1000))) {
		try {
			const headers = world ? { "X-Emulator-World": world } : {};
			const response = await fetch(`stream?after=${after}`, { headers });
			if (!response.ok) throw new Error((await response.json()).message);
			$("problem").textContent = "";
			const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
			for (let rest = ""; ;) {
				const { value, done } = await reader.read();
				if (done) break;
				if (own !== streams) return void reader.cancel();
				const events = (rest + value).split("\n\n");
				rest = events.pop();
				after = receive(events) ?? after;
			}
		} catch (err) {
			$("problem").textContent = `The emulator does not answer: ${err.message}`;
		}
	}
}

// receive adds the requests in events, and returns the number of the last one.
function receive(events) {
	const list = [];
	for (const text of events) {
		const data = text.split("\n").find((line) => line.startsWith("data: "))?.slice(6);
		if (!data) continue;
		if (text.startsWith("event: dropped")) dropped += JSON.parse(data).count;
		else list.push(JSON.parse(data));
	}
	addRequests(list);
	return list.at(-1)?.number;
}

// Objects

// branch returns the items in an object, as a list.
async function branch(list, id, offset = 0) {
	const { items, total } = await api("GET", `items?in=${encodeURIComponent(id)}&offset=${offset}`);
	for (const item of items) {
		const label = [item.name, " ", element("span", "quiet", [item.kind, item.detail, item.id].filter(Boolean).join(" · "))];
		if (!item.parent) {
			list.append(element("li", "", element("span", "", ...label)));
			continue;
		}
		const inner = element("ul");
		const details = element("details", "", element("summary", "", ...label), inner);
		details.addEventListener("toggle", () => {
			inner.replaceChildren();
			if (details.open) attempt(() => branch(inner, item.id));
		});
		list.append(element("li", "", details));
	}
	const next = offset + items.length;
	if (next < total) {
		const more = element("button", "", `${total - next} more`);
		more.type = "button";
		const place = element("li", "", more);
		more.addEventListener("click", () => attempt(async () => {
			place.remove();
			await branch(list, id, next);
		}));
		list.append(place);
	}
	if (!total) list.append(element("li", "quiet", "empty"));
}

// The other parts of the page

// card returns an item of a list with a title, what is known of it, and buttons.
function card(title, facts, ...buttons) {
	return element("li", "", element("strong", "", title), " ",
		element("span", "quiet", facts.filter(Boolean).join(" · ")), buttons.length ? element("div", "line", ...buttons) : "");
}

function fill(id, cards) {
	const keys = cards.map((c) => c.textContent).join("\n");
	if ($(id).dataset.keys === keys) return; // the focus stays where it is
	$(id).dataset.keys = keys;
	$(id).replaceChildren(...(cards.length ? cards : [element("li", "quiet", "none")]));
}

const parts = {
	requests: () => draw(),
	items: async () => {},
	inbox: async () => {
		const [{ sign_ins }, { orgs }, { codes }, { mails }] = await Promise.all(
			["sign-ins", "payments", "codes", "mails"].map((path) => api("GET", path)));
		fill("sign-ins", sign_ins.map((s) => card(s.client, [s.agent, s.user_code, s.scope, s.login_url],
			button("Approve", () => api("POST", "sign-ins", { login_url: s.login_url }), "main"),
			button("Deny", () => api("POST", "sign-ins", { login_url: s.login_url, deny: true })))));
		fill("payments", orgs.map((org) => card(org, [], button("Pay", () => api("POST", "payments", { org }), "main"))));
		fill("codes", codes.map((c) => card(c.email, [c.one_time && `second factor ${c.one_time}`, c.validation && `address ${c.validation}`])));
		fill("mails", mails.reverse().map((m) => card(m.to, [m.at, m.message, m.key && `key ${m.key}`, m.token && `token ${m.token}`])));
	},
	faults: async () => {
		const [{ faults }, { socket_faults }, { disagreements }] = await Promise.all(
			["faults", "socket-faults", "disagreements"].map((path) => api("GET", path)));
		const remove = (id) => button("Remove", () => api("DELETE", `faults/${encodeURIComponent(id)}`));
		fill("fault-list", faults.map(({ id, op, hits, matches, ...rest }) => card(`${id}: ${op ?? "every operation"}`,
			[JSON.stringify(rest), `${hits} of ${matches} calls`], remove(id))));
		fill("socket-fault-list", socket_faults.map(({ id, profile, hits, matches, ...rest }) => card(`${id}: ${profile ?? "every profile"}`,
			[JSON.stringify(rest), `${hits} of ${matches} ${rest.age ? "sockets" : "messages"}`], remove(id))));
		fill("disagreement-list", disagreements.map(({ id, op, ...rest }) => card(`${id}: ${op ?? "every operation"}`,
			[JSON.stringify(rest)], remove(id))));
	},
	clock: async () => {},
};

async function refresh() {
	const { now, frozen } = await api("GET", "clock");
	const text = now.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC") + (frozen ? " (frozen)" : "");
	$("now").textContent = text;
	$("time").textContent = text;
	$("freeze").textContent = frozen ? "Unfreeze" : "Freeze";
	$("freeze").dataset.frozen = frozen ? "yes" : "";
	await parts[tab]();
}

function show(name) {
	tab = name;
	for (const section of document.querySelectorAll("section")) section.hidden = section.id !== name;
	for (const b of document.querySelectorAll("nav button")) b.setAttribute("aria-current", String(b.dataset.tab === name));
	if (name === "items") attempt(async () => {
		$("tree").replaceChildren();
		await branch($("tree"), "");
	});
	attempt(refresh);
}

function choiceOfWorlds(list) {
	const names = ["", ...list.map((w) => w.name)];
	if ([...$("worlds").options].map((o) => `${o.value}\n`).join("") === names.map((name) => `${name}\n`).join("")) return;
	$("worlds").replaceChildren(...names.map((name) => {
		const option = element("option", "", name || "main");
		option.value = name;
		return option;
	}));
	$("worlds").value = world;
}

for (const b of document.querySelectorAll("nav button")) b.addEventListener("click", () => show(b.dataset.tab));
document.addEventListener("keydown", (e) => {
	if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
	const tabs = document.querySelectorAll("nav button");
	if (e.key >= "1" && e.key <= String(tabs.length)) show(tabs[e.key - 1].dataset.tab);
	if (e.key === "/") {
		e.preventDefault();
		show("requests");
		$("filter").focus();
	}
	if (e.key === "Escape") $("detail").hidden = true;
});
$("worlds").addEventListener("change", () => {
	world = $("worlds").value;
	[all, shown, dropped, selected] = [[], [], 0, 0];
	$("detail").hidden = true;
	follow();
	show(tab);
});

// adds lets a form add what it describes: its fields with a value, changed by make.
function adds(id, path, make) {
	$(id).addEventListener("submit", (e) => {
		e.preventDefault();
		const fields = {};
		for (const { name, type, value } of e.target.elements) if (name && value) fields[name] = type === "number" ? Number(value) : value;
		attempt(async () => {
			await api("POST", path, make(fields));
			e.target.reset();
			await refresh();
		});
	});
}
adds("add-fault", "faults", (fields) => fields);
adds("add-socket-fault", "socket-faults", ({ effect, ...fields }) => {
	if (/^(json|text|binary|huge)$/.test(effect)) return { ...fields, junk: effect };
	return effect ? { ...fields, [effect]: { close: 4001, copies: 1 }[effect] ?? true } : fields;
});
adds("add-disagreement", "disagreements", ({ edit, name, ...fields }) => {
	if (edit) fields.edits = [edit];
	const [known, other = ""] = (name ?? "").split("="); // without another name, the platform has none
	return name ? { ...fields, names: { [known]: other } } : fields;
});
$("heal").addEventListener("click", () => attempt(async () => {
	await api("DELETE", "faults");
	await refresh();
}));
$("reset").addEventListener("click", () => attempt(async () => {
	await api("POST", "reset");
	show("items");
}));
$("freeze").addEventListener("click", () => attempt(async () => {
	await api("POST", $("freeze").dataset.frozen ? "clock/unfreeze" : "clock/freeze", {});
	await refresh();
}));
$("advance").addEventListener("submit", (e) => {
	e.preventDefault();
	attempt(async () => {
		await api("POST", "clock/advance", { by: new FormData(e.target).get("by") });
		await refresh();
	});
});

async function watch() {
	for (; ; await new Promise((done) => setTimeout(done, 2000))) {
		if (document.hidden) continue;
		await attempt(async () => {
			choiceOfWorlds((await api("GET", "worlds")).worlds);
			await refresh();
		});
	}
}

choiceOfWorlds([]);
show("requests");
follow();
watch();
