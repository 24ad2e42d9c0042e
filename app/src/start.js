/* First the page, which is complete without a script; then what takes it over, so that neither bandwidth nor processor is taken from
   the first paint. */
(function (module, wasm) {
	/* Until the page is taken over its links are the browser's: the router listens before the page's own part has come, and that part
	   would then take over what was made for another address. */
	document.addEventListener("click", (event) => {
		if (!document.documentElement.hasAttribute("data-hydrated")) event.stopPropagation();
	});
	let has_begun = false;
	const begin = () => {
		if (has_begun) return;
		has_begun = true;
		/* All at once: each of them asks for the next only when it runs. */
		for (const link of document.querySelectorAll('link[rel="later"]')) {
			link.rel = link.as === "fetch" ? "preload" : "modulepreload";
		}
		import(module).then((main) => main.default({ module_or_path: wasm }).then(() => main.hydrate()));
	};
	requestAnimationFrame(() => setTimeout(begin));
	/* What nobody sees is not painted. */
	setTimeout(begin, document.hidden ? 0 : 1000);
})
