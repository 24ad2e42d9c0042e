// A number that is a link leads to a list of just that number, also while a breaker is open and retries are due.
import type { Locator, Page } from "@playwright/test";
import type { Api, App, Integration } from "../fixtures/api";
import { inSync, products, retries, settled } from "../fixtures/data";
import { card, rows, tile } from "../fixtures/parts";
import { letRetriesBeDue } from "../fixtures/past";
import type { Receiver } from "../fixtures/receiver";
import { enter, expect, open, openUntil, test } from "../fixtures/test";

test("each number of the overview leads to as many", async ({ console: page, api, app, receiver }) => {
  test.slow();
  await brokenOff(api, app, receiver);
  // Its two changes wait at the other integration as well.
  await inSync(api, app, receiver, products(2, "fine"), { integration: "Alright" });
  await openUntil(page, "/", async () => {
    for (const [label, n] of [["Backlog", "6"], ["Delivered", /^2 /], ["To be retried", "3"], ["Dead letters", "2"]] as const) {
      await expect(tile(page, label)).toHaveText(n, { timeout: 1_000 });
    }
  });
  const { items } = await api.call<{ items: { slots: number; lease: string }[] }>("GET", "/workers");
  const slots = items.filter(({ lease }) => lease !== "lost").reduce((sum, worker) => sum + worker.slots, 0);
  await expect(tile(page, "Processing"), "of the processes' slots").toHaveText(`0 / ${slots}`);
  await expect(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Dead letters 2" })).toBeVisible();

  const tiles = await linked(card(page, "Now"));
  const steps = (await linked(card(page, "Retry pyramid"))).filter(({ n }) => n > 0);
  expect([...tiles, ...steps].map(({ label, n }) => `${label}: ${n}`)).toEqual([
    "Backlog: 6",
    "Processing: 0",
    "Delivered: 2",
    "To be retried: 3",
    "Dead letters: 2",
    "attempt 1: 3",
    "dead: 2",
  ]);
  await expectEachToLeadToAsMany(page, [...tiles, ...steps]);
});

test("each number of an integration's page leads to as many", async ({ console: page, api, app, receiver }) => {
  test.slow();
  const broken = await brokenOff(api, app, receiver);
  await openUntil(page, `/integrations/${broken.id}`, async () => {
    await expect(tile(page, "To be retried")).toHaveText("3", { timeout: 1_000 });
    await expect(card(page, "Breaker")).toContainText("Held open", { timeout: 1_000 });
  });
  const tiles = await linked(card(page, "Now"));
  const steps = (await linked(card(page, "Retry pyramid"))).filter(({ n }) => n > 0);
  // Nothing of it was delivered; where the records in sync are is in no list.
  expect([...tiles, ...steps].map(({ label, n }) => `${label}: ${n}`)).toEqual([
    "Backlog: 4",
    "Processing: 0",
    "Delivered / min: 0",
    "To be retried: 3",
    "Dead letters: 2",
    "attempt 1: 3",
    "dead: 2",
  ]);
  await expectEachToLeadToAsMany(page, [...tiles, ...steps]);

  const fine = await inSync(api, app, receiver, products(2, "fine"), { integration: "Alright" });
  await openUntil(page, `/integrations/${fine.id}`, () => expect(tile(page, "Delivered")).toHaveText("2", { timeout: 1_000 }));
  await expectEachToLeadToAsMany(page, (await linked(card(page, "Now"))).filter(({ n }) => n > 0));
});

test("a job whose retry is due leads to all that wait", async ({ console: page, api, app, receiver }) => {
  const broken = await brokenOff(api, app, receiver);
  const [due] = await api.jobs(`integration_id=${broken.id}&status=retrying`);
  await openUntil(page, `/jobs/${due?.id}`, () =>
    expect(page.getByRole("link", { name: "See all 3 waiting jobs" })).toBeVisible({ timeout: 1_000 }),
  );
  await page.getByRole("link", { name: "See all 3 waiting jobs" }).click();
  await expect(rows(page, "Jobs")).toHaveCount(3);
  await expect(rows(page, "Jobs").filter({ hasText: "Retrying" })).toHaveCount(2);
  await expect(page.getByText("Jobs that failed and wait for another attempt, due or not.")).toBeVisible();
});

test("readers who may not see the processes are not told of their slots", async ({ page, sessions }) => {
  await enter(page, "support", sessions);
  await openUntil(page, "/", () => expect(tile(page, "Processing")).toHaveText("0", { timeout: 1_000 }));
});

/** An integration whose breaker is held open: four jobs are pending, three are to be retried, two of them now, and two are dead letters. */
async function brokenOff(api: Api, app: App, receiver: Receiver): Promise<Integration> {
  const integration = await retries(api, app, receiver, products(3, "late"), { integration: "Out of order" });
  receiver.answer = { status: 400, body: "unknown attribute: price" };
  await api.sendEvents(app, products(2, "bad"));
  await settled(api, integration, "dead_letters", 2);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await api.call("POST", `/integrations/${integration.id}/breaker`, { action: "hold", until });
  await api.sendEvents(app, products(4, "new"));
  await settled(api, integration, "backlog", 4);
  letRetriesBeDue(integration, 2);
  await expect.poll(async () => (await api.jobs(`integration_id=${integration.id}&status=retrying`)).length).toBe(2);
  return integration;
}

type Linked = { label: string; n: number; href: string };

/** The numbers of a region, and where they lead; ages are none. All are read at once, because the page is live. */
async function linked(region: Locator): Promise<Linked[]> {
  const found = await region.getByRole("link").evaluateAll((links) =>
    links.map((link) => {
      const [label, figure] = [...link.children].filter((part) => part.tagName === "SPAN").map((part) => (part.textContent ?? "").trim());
      return { label: label ?? "", n: Number.parseInt((figure ?? "").replaceAll(",", ""), 10), href: link.getAttribute("href") ?? "" };
    }),
  );
  return found.filter(({ label }) => label !== "Oldest pending");
}

async function expectEachToLeadToAsMany(page: Page, numbers: Linked[]): Promise<void> {
  for (const { label, n, href } of numbers) {
    await open(page, href);
    await expect(rows(page, href.startsWith("/dead-letters") ? "Dead letters" : "Jobs"), `${label}: ${href}`).toHaveCount(n);
  }
}
