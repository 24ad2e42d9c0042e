// A page says so when its object is deleted, without being loaded again.
import { collecting, products } from "../fixtures/data";
import { expect, open, test } from "../fixtures/test";

test("an integration is deleted while its page is open", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(1));
  const asked = page.waitForRequest((request) => decodeURIComponent(request.url()).includes("open=integration:"));
  await open(page, `/integrations/${integration.id}`);
  // The response means that the stream is open: from then on each change is sent.
  await (await asked).response();
  await api.call("DELETE", `/integrations/${integration.id}?cancel_jobs=true`);
  await expect(page.getByText("Not found", { exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: "All integrations" })).toBeVisible();
});
