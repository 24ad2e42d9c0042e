// Bulk operations that are started elsewhere wait behind a link.
import { deadLetters, products, settled } from "../fixtures/data";
import { rows } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

test("a new operation waits behind a link", async ({ console: page, api, app, receiver }) => {
  const integration = await deadLetters(api, app, receiver, products(2));
  receiver.answer = { status: 200, body: "ok" };
  await open(page, "/operations");
  const reason = `their shop is back ${integration.id}`;
  await api.call("POST", "/jobs/bulk", { action: "requeue", filter: { integration_id: integration.id, status: "failed" }, reason });
  await settled(api, integration, "dead_letters", 0);
  const more = page.getByRole("link", { name: "1 new" });
  await expect(more).toBeVisible({ timeout: 15_000 });
  await expect(page.getByText(reason)).toHaveCount(0);
  await more.click();
  await expect(rows(page, "Bulk operations").first()).toContainText(reason);
  await expect(more).toHaveCount(0);
});
