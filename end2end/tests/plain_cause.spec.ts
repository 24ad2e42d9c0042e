// Sentences about a failure name its cause in plain words, whatever the external system answered. The body is behind a click.
import type { Locator } from "@playwright/test";
import { jobOf, products, settled } from "../fixtures/data";
import { expectWellMade } from "../fixtures/page_checks";
import { card, row, rows } from "../fixtures/parts";
import { Receiver } from "../fixtures/receiver";
import { expect, open, openUntil, test } from "../fixtures/test";

const REFUSED = `{"code":17,"error":"validation_failed","message":"The price must be a number. Ask your agency."}`;
const CLOSED = "<html>\r\n<head><title>The shop has moved</title></head>\r\n<body>\r\n<center><h1>404</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n";

/** Each is shown, and shows neither markup nor JSON. */
async function expectPlain(...sentences: Locator[]): Promise<void> {
  for (const sentence of sentences) {
    await expect(sentence).toBeVisible();
    expect(await sentence.innerText()).not.toMatch(/<|\{"/);
  }
}

test("a failure is named by its plain cause on every page, and leads to the others of its cause", async ({ console: page, api, app, receiver }) => {
  const other = await Receiver.start();
  try {
    receiver.answer = { status: 400, body: REFUSED, headers: { "content-type": "application/json" } };
    other.answer = { status: 404, body: CLOSED, headers: { "content-type": "text/html" } };
    const picky = await api.createIntegration(app, "Picky", receiver.url);
    const moved = await api.createIntegration(app, "Moved", other.url);
    await api.sendEvents(app, products(3));
    await settled(api, picky, "dead_letters", 3);
    await settled(api, moved, "dead_letters", 3);

    const verdict = card(page, "Verdict");
    const causes = card(page, "Failures by cause");
    for (const [integration, cause] of [
      [picky, "400 Bad Request: The price must be a number"],
      [moved, "404 Not Found: The shop has moved"],
    ] as const) {
      await openUntil(page, `/integrations/${integration.id}`, async () => {
        await expect(verdict).toContainText(`${cause}.`, { timeout: 1_000 });
        await expect(causes.getByRole("listitem")).toContainText(cause, { timeout: 1_000 });
      });
      await expectPlain(verdict, causes);
    }

    await openUntil(page, "/", async () => {
      await expect(card(page, "Needs attention")).toContainText("The price must be a number", { timeout: 1_000 });
      await expect(card(page, "Needs attention")).toContainText("The shop has moved", { timeout: 1_000 });
    });
    await expectPlain(card(page, "Needs attention"));

    await open(page, "/dead-letters");
    await expect(row(page, "Dead letters", "product sku-1").filter({ hasText: "The shop has moved" })).toHaveCount(1);
    const grid = "Dead letters by integration and cause";
    const heads = page.getByRole("region", { name: `${grid}, table` }).getByRole("columnheader");
    await expect(heads.filter({ hasText: "400 validation failed" })).toHaveCount(1);
    await expect(heads.filter({ hasText: "404 The shop has moved" })).toHaveCount(1);
    await expectPlain(...(await heads.all()), ...(await rows(page, "Dead letters").all()));

    const job = await jobOf(api, picky, "sku-1");
    await open(page, `/jobs/${job.id}`);
    await expect(verdict.locator(".say")).toHaveText(/^400 Bad Request: The price must be a number\. Dead-lettered at /);
    await expect(verdict).toContainText(/2 more jobs of this cause, since (\d+ \w+ )?\d\d:\d\d:\d\d\./);
    await expect(card(page, "Attempts")).toContainText("“The price must be a number”");
    await expectPlain(verdict);
    await expectWellMade(page);

    await verdict.getByRole("link", { name: "Go to group" }).click();
    await expect(page).toHaveURL(/\/failures\?group=/);
    const group = card(page, "Their system refuses what we send");
    const body = group.getByRole("group", { name: "Newest error in full" });
    await expect(group).toContainText("Newest error: 400 Bad Request: The price must be a number");
    await expect(body).toBeHidden();
    await expectPlain(group.getByText("Newest error"), ...(await rows(page, "Failures by cause").all()));
    await group.getByText("Error in full").click();
    await expect(body).toContainText(`{"code":17,"error":"validation_failed"`);
    await expectWellMade(page);
  } finally {
    await other.stop();
  }
});
