"use strict";

const every = 3000; // milliseconds
const limit = 50; // rows of a page
const states = ["following", "new", "failing", "needs sign-in", "paused"];
const query = { text: "", state: "" };
let pages = [""]; // value of after for each page up to the present one
let next = "";
let latest = null;
let asked = 0; // number of the latest request for accounts
const open = new Map(); // pages of profiles by account, as in pages
const rows = new Map(); // elements by account

const byID = (id) => document.getElementById(id);

function element(name, text, kind) {
	const e = document.createElement(name);
	if (text) e.textContent = text;
	if (kind) e.className = kind;
	return e;
}

function cell(label, kind) {
	const td = element("td", "", kind);
	td.dataset.label = label;
	return td;
}

// write changes an element only if it must, so that a screen reader and a selection stay.
function write(e, text, kind) {
	if (e.textContent !== text) e.textContent = text;
	if (kind !== undefined && e.className !== kind) e.className = kind;
}

function seconds(n) {
	if (n < 120) return n.toFixed(0) + " s";
	if (n < 7200) return Math.round(n / 60) + " min";
	if (n < 172800) return Math.round(n / 3600) + " h";
	return Math.round(n / 86400) + " days";
}

const number = (n) => n.toLocaleString("en");

function list(id, texts) {
	const e = byID(id);
	if (e.dataset.shown === JSON.stringify(texts)) return;
	e.dataset.shown = JSON.stringify(texts);
	e.replaceChildren(...texts.map((text) => element("li", text)));
}

async function read(address) {
	const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(every * 3) });
	if (!answer.ok) throw new Error((await answer.text()).trim() || "status " + answer.status);
	return answer.json();
}

function address(path, values) {
	return path + "?" + new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ""));
}

// The head of the page

function showStatus(now) {
	latest = now;
	document.title = now.replica + " – fastio-relay";
	write(byID("summary"), now.replica + (now.ready ? " is ready." : " is not ready.") +
		" It follows " + number(now.following) + " profiles in " + number(now.slots) + " of 4,096 slots, and has published " +
		number(now.published) + " events.", now.ready ? "" : "bad");
	const age = now.facts ? (Date.parse(now.time) - Date.parse(now.facts)) / 1000 : -1;
	write(byID("facts"), age < 0 ? "The accounts have not been read yet." :
		"This page is the answer of " + now.replica + " about all replicas, from what NATS said " + seconds(age) + " before.",
		age < 0 || age > 60 ? "warn" : "");
	list("reasons", now.reasons);
	list("problems", now.problems);
	showStates(now.accounts);
	byID("replicas").replaceChildren(...now.replicas.map((r) => {
		const row = element("tr");
		const texts = [
			["Replica", r.name + (r.name === now.replica ? " (this replica)" : "")], ["Slots", number(r.slots), "number"],
			["Accounts", number(r.accounts), "number"], ["Heartbeat", r.seen < 0 ? "none" : seconds(r.seen) + " ago", "number"],
			["Share", r.waiting ? "waits" : "agreed", r.waiting ? "warn" : "good"],
		];
		row.append(...texts.map(([label, text, kind]) => {
			const td = cell(label, kind);
			td.textContent = text;
			return td;
		}));
		return row;
	}));
}

function showStates(counts) {
	const group = byID("states");
	if (!group.children.length) {
		group.append(...["", ...states].map((state) => {
			const button = element("button");
			button.type = "button";
			button.dataset.state = state;
			button.addEventListener("click", () => search({ state }));
			return button;
		}));
	}
	for (const button of group.children) {
		const state = button.dataset.state;
		const n = state ? counts[state] ?? 0 : Object.values(counts).reduce((sum, n) => sum + n, 0);
		write(button, (state || "all") + " " + number(n));
		button.setAttribute("aria-pressed", String(query.state === state));
	}
}

// Accounts

const stateKind = { following: "good", failing: "bad", "needs sign-in": "bad" };

function newRow(name) {
	const group = { row: element("tr"), reason: element("tr", "", "reason"), detail: element("tr", "", "detail") };
	const first = cell("Account");
	group.button = element("button", name, "name");
	group.button.type = "button";
	group.button.setAttribute("aria-expanded", "false");
	group.button.addEventListener("click", () => toggle(name));
	first.append(group.button);
	group.cells = [
		cell("State"), cell("Replica"), cell("Profiles", "number"), cell("Last search", "number"), cell("Not stored", "number"), cell("Since"),
	];
	group.row.append(first, ...group.cells);
	for (const [one, label] of [[group.reason, "Reason"], [group.detail, ""]]) {
		const td = cell(label, label ? "bad" : "");
		td.colSpan = group.cells.length + 1;
		one.append(td);
	}
	return group;
}

function showAccount(a) {
	const group = rows.get(a.name) ?? newRow(a.name);
	rows.set(a.name, group);
	const known = a.age >= 0;
	const texts = [
		a.state, a.holder || "none", number(a.profiles), known ? seconds(a.oldest) : "–", known ? number(a.pending) : "–",
		a.since ? new Date(a.since).toLocaleString() : "–",
	];
	texts.forEach((text, i) => write(group.cells[i], text));
	group.cells[0].className = stateKind[a.state] ?? "";
	group.cells[1].className = a.holder ? "" : "bad";
	const reason = [a.reason, a.error].filter(Boolean).join(" · ");
	write(group.reason.firstChild, reason);
	const shown = open.has(a.name);
	group.button.setAttribute("aria-expanded", String(shown));
	const elements = [group.row];
	if (reason) elements.push(group.reason);
	if (shown) elements.push(group.detail);
	elements.forEach((e, i) => e.classList.toggle("explained", i < elements.length - 1));
	return elements;
}

function showAccounts(page) {
	next = page.next;
	const names = new Set(page.rows.map((a) => a.name));
	for (const name of rows.keys()) if (!names.has(name)) rows.delete(name);
	const elements = page.rows.flatMap(showAccount);
	const body = byID("accounts");
	if (elements.length !== body.children.length || elements.some((e, i) => e !== body.children[i])) {
		const active = document.activeElement;
		body.replaceChildren(...elements);
		if (active && body.contains(active)) active.focus();
	}
	body.className = "";
	byID("empty").hidden = elements.length > 0;
	write(byID("empty"), next ? "None of these 5,000 names; the next page searches on." : "There are no such accounts.");
	byID("first").disabled = byID("previous").disabled = pages.length === 1;
	byID("next").disabled = !next;
	write(byID("position"), "Page " + number(pages.length));
}

async function refreshAccounts() {
	const request = ++asked;
	const page = await read(address("accounts", { ...query, after: pages.at(-1), limit }));
	if (request !== asked) return; // another page was asked for meanwhile
	showAccounts(page);
	await Promise.all([...open.keys()].filter((name) => rows.has(name)).map(refreshProfiles));
}

function search(change) {
	Object.assign(query, change);
	pages = [""];
	open.clear();
	if (latest) showStates(latest.accounts);
	return turn();
}

function turn() {
	return refreshAccounts().catch(fail);
}

// Profiles of an account

function toggle(name) {
	if (!open.delete(name)) open.set(name, [""]);
	return turn();
}

function profileRow(p) {
	const row = element("tr");
	const texts = [
		["Profile", p.profile], ["State", p.followed ? "followed" : "not followed", p.followed ? "good" : "bad"],
		["Last search", seconds(p.age), "number"], ["Not stored", number(p.pending), "number"],
	];
	row.append(...texts.map(([label, text, kind]) => {
		const td = cell(label, kind);
		td.textContent = text;
		return td;
	}));
	if (!p.reason) return [row];
	const reason = element("tr", "", "reason");
	const td = cell("Reason", "bad");
	td.colSpan = texts.length;
	td.textContent = p.reason;
	reason.append(td);
	row.className = "explained";
	return [row, reason];
}

function newProfiles(name) {
	const view = { table: element("table"), head: element("tr"), body: element("tbody"), more: element("button", "More profiles") };
	const caption = element("caption", "Profiles of " + name);
	for (const [text, kind] of [["Profile"], ["State"], ["Last search", "number"], ["Not stored", "number"]]) {
		const th = element("th", text, kind);
		th.scope = "col";
		view.head.append(th);
	}
	const head = element("thead");
	head.append(view.head);
	view.table.append(caption, head, view.body);
	view.more.type = "button";
	view.more.addEventListener("click", () => {
		open.get(name)?.push(view.next);
		refreshProfiles(name).catch(fail);
	});
	return view;
}

async function refreshProfiles(name) {
	const group = rows.get(name);
	const found = open.get(name);
	if (!group || !found) return;
	let page;
	try {
		page = await read(address("accounts/profiles", { account: name, after: found.at(-1), limit }));
	} catch (err) {
		write(group.detail.firstChild, err.message);
		delete group.profiles;
		return;
	}
	if (!page.rows.length) {
		write(group.detail.firstChild, "No profile of it is followed.");
		delete group.profiles;
		return;
	}
	if (!group.profiles) {
		group.profiles = newProfiles(name);
		group.detail.firstChild.replaceChildren(group.profiles.table, group.profiles.more);
	}
	group.profiles.next = page.next;
	group.profiles.more.hidden = !page.next;
	group.profiles.body.replaceChildren(...page.rows.flatMap(profileRow));
}

// Running

function fail(err) {
	write(byID("summary"), "The replica does not answer (" + err.message + ")." +
		(latest ? " The tables are of " + new Date(latest.time).toLocaleTimeString() + "." : ""), "bad");
	byID("accounts").className = byID("replicas").className = "old";
}

async function refresh() {
	try {
		showStatus(await read("status"));
		byID("replicas").className = "";
		if (latest.facts) await refreshAccounts();
	} catch (err) {
		fail(err);
	}
	setTimeout(refresh, every);
}

let typing = 0;
byID("text").addEventListener("input", (e) => {
	clearTimeout(typing);
	typing = setTimeout(() => search({ text: e.target.value.trim() }), 200);
});
byID("search").addEventListener("submit", (e) => {
	e.preventDefault();
	search({ text: byID("text").value.trim() });
});
byID("first").addEventListener("click", () => { pages = [""]; turn(); });
byID("previous").addEventListener("click", () => { pages.pop(); turn(); });
byID("next").addEventListener("click", () => { pages.push(next); turn(); });

refresh();
