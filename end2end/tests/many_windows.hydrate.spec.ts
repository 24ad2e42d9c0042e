// With HTTP/1.1 a browser opens six connections to the console, over all of its windows.
import { collecting, jobOf, products } from "../fixtures/data";
import { card } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("several windows with a job leave a connection for another one, and each follows its job", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  for (let n = 0; n < 4; n++) await open(n === 0 ? page : await page.context().newPage(), `/jobs/${job.id}`);
  await api.call("POST", `/jobs/${job.id}/cancel`);
  for (const window of page.context().pages()) await expect(card(window, "Verdict")).toContainText("Cancelled", { timeout: 5_000 });
});

test("the stream follows the navigation from page to page", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(1));
  const job = await jobOf(api, integration, "sku-1");
  const streams: string[] = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname === "/api/v1/live") streams.push(search);
  });
  await open(page, `/integrations/${integration.id}`);
  await expect.poll(() => streams.at(-1)).toBe(`?changes=true&open=integration:${integration.id}`);
  await page.getByRole("region", { name: "Recent jobs, table" }).getByRole("link", { name: "product sku-1" }).click();
  await expect.poll(() => streams.at(-1)).toBe(`?changes=true&open=job:${job.id}`);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Bulk operations" }).click();
  await expect.poll(() => streams.at(-1)).toBe("?changes=true");
});
