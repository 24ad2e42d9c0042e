import { initSync } from "../../headgate.js";

/* Parts that run, or are about to. Starting a part twice would overwrite the data of the first. */
const running = new Map();

/* Parts that are started without a pause: a few milliseconds, even on a phone. */
const AT_ONCE = 64;

async function download(pack) {
	const response = await fetch(new URL(`./${pack}.pack`, import.meta.url));
	if (!response.ok) throw new Error(`${pack}: ${response.status}`);
	return response.arrayBuffer();
}

function start(part, bytes) {
	if (!running.has(part)) {
		/* Parts import nothing but the main part's exports. */
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
		/* Hundreds at once would block the page. */
		if (parts.length % AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve));
	}
	return Promise.all(parts);
}

/* Called by the main part, whose callback gets whether it succeeded and may try again. */
function loading(packs) {
	return async (callback, data) => {
		const loaded = await Promise.all(packs.map(load)).then(
			() => true,
			(error) => (console.warn(error), false),
		);
		initSync().__indirect_function_table.get(callback)(data, loaded);
	};
}
