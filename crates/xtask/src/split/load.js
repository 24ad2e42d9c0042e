import { initSync } from "../../headgate.js";

/* Parts that run, or are about to. A part that ran twice would begin with fresh data under the feet of the first. */
const running = new Map();

/* Parts begun in one go: a few milliseconds, on a phone too. */
const AT_ONCE = 64;

async function download(pack) {
	const response = await fetch(new URL(`./${pack}.pack`, import.meta.url));
	if (!response.ok) throw new Error(`${pack}: ${response.status}`);
	return response.arrayBuffer();
}

function start(part, bytes) {
	if (!running.has(part)) {
		/* The main part's exports are all that parts ask for. */
		const started = WebAssembly.instantiate(bytes, { __wasm_split: initSync() });
		started.catch(() => running.delete(part));
		running.set(part, started);
	}
	return running.get(part);
}

async function load(pack) {
	if (CONTENTS[pack].every(([part]) => running.has(part))) {
		return Promise.all(CONTENTS[pack].map(([part]) => running.get(part)));
	}
	const bytes = await download(pack);
	const parts = [];
	let at = 0;
	for (const [part, length] of CONTENTS[pack]) {
		parts.push(start(part, bytes.slice(at, (at += length))));
		/* Hundreds at once would keep the page from answering. */
		if (parts.length % AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve));
	}
	return Promise.all(parts);
}

/* Called by the main part, which is told how it went and tries again when it wants to. */
function loading(packs) {
	return async (callback, data) => {
		const loaded = await Promise.all(packs.map(load)).then(
			() => true,
			(error) => (console.warn(error), false),
		);
		initSync().__indirect_function_table.get(callback)(data, loaded);
	};
}
