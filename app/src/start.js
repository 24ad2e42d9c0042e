/* The page is painted first, as it is complete without a script, and hydrated then, so that loading the wasm takes neither bandwidth
   nor processor time from the first paint. */
(function (module, wasm) {
	/* Until the page is hydrated the browser follows links: the router listens before the page's own part has been loaded, and that part
	   would then hydrate a document that was rendered for another address. */
	document.addEventListener("click", (event) => {
		if (!document.documentElement.hasAttribute("data-hydrated")) event.stopPropagation();
	});
	let has_begun = false;
	const begin = () => {
		if (has_begun) return;
		has_begun = true;
		/* All at once, because each file requests the next one only when it runs. */
		for (const link of document.querySelectorAll('link[rel="later"]')) {
			link.rel = link.as === "fetch" ? "preload" : "modulepreload";
		}
		import(module).then((main) => main.default({ module_or_path: wasm }).then(() => main.hydrate()));
	};
	requestAnimationFrame(() => setTimeout(begin));
	/* A hidden page is not painted, so it does not wait for a frame. */
	setTimeout(begin, document.hidden ? 0 : 1000);
})
