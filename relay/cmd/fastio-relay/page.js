"use strict";

const every = 2000; // milliseconds

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

function show(now) {
	const summary = document.getElementById("summary");
	const here = now.profiles.filter((p) => p.here).length;
	summary.className = now.ready ? "" : "bad";
	summary.textContent = now.replica + " holds " + here + " of " + now.profiles.length + " profiles, has published " +
		now.published + " events, " + (now.ready ? "is ready" : now.connected ? "is not ready" : "has no connection to NATS");
	document.getElementById("profiles").replaceChildren(...now.profiles.map((p) => {
		const row = document.createElement("tr");
		row.append(
			cell("Profile", p.profile),
			cell("Holder", p.holder ? p.holder + (p.here ? " (this replica)" : "") : "none", p.holder ? "good" : "bad"),
			cell("Events", String(p.messages), "number"),
			cell("Rate", p.rate.toFixed(1) + "/s", "number"),
			cell("Lag", p.newest ? seconds(p.lag) : "–", "number"),
			cell("Newest event", p.newest ? new Date(p.newest).toLocaleString() : "–"),
		);
		return row;
	}));
}

async function refresh() {
	try {
		const answer = await fetch("status", { cache: "no-store", signal: AbortSignal.timeout(every * 2) });
		if (!answer.ok) throw new Error("status " + answer.status);
		show(await answer.json());
	} catch (err) {
		const summary = document.getElementById("summary");
		summary.className = "bad";
		summary.textContent = "The replica does not answer: " + err.message;
	}
	setTimeout(refresh, every);
}

refresh();
