// A page that is about something says so when that is deleted, without being loaded again.
import { collecting, products } from "../fixtures/data";
import { expect, open, test } from "../fixtures/test";

test("an integration that is deleted while its page is open", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(1));
  const asked = page.waitForRequest((request) => decodeURIComponent(request.url()).includes("open=integration:"));
  await open(page, `/integrations/${integration.id}`);
  // What it says is the first event: from then on each change is told.
  await (await asked).response();
  await api.call("DELETE", `/integrations/${integration.id}?cancel_jobs=true`);
  await expect(page.getByText("Not found", { exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: "All integrations" })).toBeVisible();
});
