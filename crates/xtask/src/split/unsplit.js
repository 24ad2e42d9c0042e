/* Stands for the loader of a split console: everything is in the main part, so a page's "part" is there already, and its imports are the
   main part's own exports. */
import { initSync } from "./headgate.js";

const LOAD = "__wasm_split_load_";

export default new Proxy(
	{},
	{
		get(_, name) {
			if (name.startsWith(LOAD)) return async (callback, data) => initSync().__indirect_function_table.get(callback)(data, true);
			const own = name.replace("00_import_", "00_export_");
			return (...values) => initSync()[own](...values);
		},
	},
);

/* A finished build writes another number: the page reloads. */
let shown;
setInterval(async () => {
	if (document.hidden) return;
	const response = await fetch(new URL("./build.txt", import.meta.url), { cache: "no-store" }).catch(() => undefined);
	if (!response?.ok) return;
	const built = await response.text();
	shown ??= built;
	if (built !== shown) location.reload();
}, 500);
