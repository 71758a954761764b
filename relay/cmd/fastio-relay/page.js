"use strict";

const every = 2000; // milliseconds
let latest = null;

function cell(label, text, kind) {
	const td = document.createElement("td");
	td.dataset.label = label;
	td.textContent = text;
	if (kind) td.className = kind;
	return td;
}

function seconds(n) {
	if (n < 120) return n.toFixed(n < 10 ? 1 : 0) + " s";
	if (n < 7200) return Math.round(n / 60) + " min";
	if (n < 172800) return Math.round(n / 3600) + " h";
	return Math.round(n / 86400) + " days";
}

function summarize(text, good) {
	const summary = document.getElementById("summary");
	summary.className = good ? "" : "bad";
	summary.textContent = text;
	document.getElementById("profiles").className = good ? "" : "old";
}

function list(id, texts) {
	document.getElementById(id).replaceChildren(...texts.map((text) => {
		const item = document.createElement("li");
		item.textContent = text;
		return item;
	}));
}

function profileRow(p) {
	const row = document.createElement("tr");
	const ours = p.here || !p.holder;
	row.append(
		cell("Profile", p.profile),
		cell("Holder", p.holder ? p.holder + (p.here ? " (this replica)" : "") : "none", p.holder ? "good" : "bad"),
		cell("Events", String(p.messages), "number"),
		cell("Rate", p.rate.toFixed(1) + "/s", "number"),
		cell("Not stored", ours ? String(p.pending) : "–", "number"),
		cell("Lag", ours ? seconds(p.lag) : "–", "number"),
		cell("Newest event", p.newest ? new Date(p.newest).toLocaleString() : "–"),
	);
	if (!p.error) return [row];
	const reason = document.createElement("tr");
	const text = cell("Reason", p.error, "bad");
	text.colSpan = row.cells.length;
	reason.className = "reason";
	reason.append(text);
	row.className = "explained";
	return [row, reason];
}

function show(now) {
	latest = now;
	document.title = now.replica + " – fastio-relay";
	const here = now.profiles.filter((p) => p.here).length;
	summarize(now.replica + (now.ready ? " is ready." : " is not ready.") +
		" It holds " + here + " of " + now.profiles.length + " profiles and has published " + now.published + " events.",
		now.ready);
	list("reasons", now.reasons);
	list("problems", now.problems);
	document.getElementById("profiles").replaceChildren(...now.profiles.flatMap(profileRow));
}

async function refresh() {
	try {
		const answer = await fetch("status", { cache: "no-store", signal: AbortSignal.timeout(every * 2) });
		if (!answer.ok) throw new Error("status " + answer.status);
		show(await answer.json());
	} catch (err) {
		summarize("The replica does not answer (" + err.message + ")." +
			(latest ? " The table is of " + new Date(latest.time).toLocaleTimeString() + "." : ""), false);
	}
	setTimeout(refresh, every);
}

refresh();
