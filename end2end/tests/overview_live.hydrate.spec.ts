// The overview updates live, says how old its numbers are, and pauses in a hidden tab.
import type { Page } from "@playwright/test";
import { ADMIN_KEY, BASE_URL } from "../fixtures/environment";
import { collecting, products } from "../fixtures/data";
import { notice, rows, tile } from "../fixtures/parts";
import { enter, expect, open, openUntil, test } from "../fixtures/test";

test("numbers update without a reload", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(1));
  await openUntil(page, "/", () => expect(tile(page, "Backlog")).toHaveText("1", { timeout: 1_000 }));
  await expect(page.getByText(/^Live/)).toBeVisible();
  await page.evaluate(() => Object.assign(window, { stillTheSamePage: true }));

  await api.sendEvents(app, products(4, "more"));
  await expect(tile(page, "Backlog")).toHaveText("5", { timeout: 5_000 });
  await expect(rows(page, "Integrations").filter({ hasText: "Price feed" })).toContainText("5");

  await api.resume(integration);
  await expect(tile(page, "Backlog")).toHaveText("0", { timeout: 8_000 });
  await expect(tile(page, "Delivered")).toHaveText(/^5/);
  expect(receiver.received).toHaveLength(5);
  expect(await page.evaluate(() => "stillTheSamePage" in window), "no reload").toBe(true);
});

test("a new integration appears", async ({ console: page, api, app, receiver }) => {
  await openUntil(page, "/", () => expect(rows(page, "Integrations")).toHaveCount(1, { timeout: 1_000 }));
  await api.createIntegration(app, "Newcomer", receiver.url);
  await expect(rows(page, "Integrations").filter({ hasText: "Newcomer" })).toBeVisible({ timeout: 5_000 });
  await expect(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Integrations 2" })).toBeVisible();
});

test("a dialog freezes the page, and closing it shows what happened meanwhile", async ({ console: page, api, app, receiver }) => {
  const integration = await collecting(api, app, receiver, products(1));
  const link = (n: number) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: `Integrations ${n}` });
  const held = `/jobs?integration_id=${integration.id}&confirm=cancel`;
  await openUntil(page, held, () => expect(link(2), "its own and the built-in one").toBeVisible({ timeout: 1_000 }));
  await expect(page.getByText(/^Frozen/)).toBeVisible();
  await expect(page.getByRole("dialog")).toContainText("1 job");

  await api.createIntegration(app, "Newcomer", receiver.url);
  await expect(page.getByText(/^Frozen · ([3-9]|\d\d) s$/)).toBeVisible();
  await expect(link(2)).toBeVisible();

  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByText(/^Live/)).toBeVisible();
  await expect(link(3)).toBeVisible();
});

// A broken stream is an error in the browser's console, which is expected here.
test("a broken stream is reported, then the age of the numbers, and it recovers by itself", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  const snapshot = await oneSnapshot();
  let answered = false;
  await page.route("**/api/v1/live?*", (route) => {
    if (answered) return route.abort("connectionfailed");
    answered = true;
    return route.fulfill({ contentType: "text/event-stream", body: `event: snapshot\ndata: ${snapshot}\n\n` });
  });
  await open(page, "/");
  await expect(page.getByText("Reconnecting")).toBeVisible();
  await expect(page.getByText(/^Stale · \d+ s$/)).toBeVisible({ timeout: 15_000 });
  await page.unroute("**/api/v1/live?*");
  await expect(page.getByText(/^Live/)).toBeVisible({ timeout: 20_000 });
});

test("nothing shifts on a phone when the first event arrives", async ({ console: page }) => {
  // At this width "Live" fits beside the title, and "As of 14:46:02" does not.
  await page.setViewportSize({ width: 412, height: 823 });
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/v1/live?*", async (route) => {
    await released;
    await route.continue();
  });
  await open(page, "/jobs");
  await expect(page.getByText(/^As of/).first()).toBeVisible();
  const before = await page.locator("main .card").first().boundingBox();
  release();
  await expect(page.getByText(/^Live/)).toBeVisible();
  expect((await page.locator("main .card").first().boundingBox())?.y).toBe(before?.y);
});

test("a hidden tab closes its stream and a visible one opens it again", async ({ console: page }) => {
  await page.addInitScript(() => {
    const streams: EventSource[] = [];
    const Real = window.EventSource;
    class Watched extends Real {
      constructor(url: string | URL) {
        super(url);
        streams.push(this);
      }
    }
    Object.assign(window, { EventSource: Watched, streams });
  });
  await open(page, "/");
  await expect(page.getByText(/^Live/)).toBeVisible();
  expect(await states(page)).toEqual([1]);

  await setHidden(page, true);
  await expect(page.getByText("Idle", { exact: true })).toBeVisible();
  expect(await states(page)).toEqual([2]);

  await setHidden(page, false);
  await expect(page.getByText(/^Live/)).toBeVisible();
  expect(await states(page)).toEqual([2, 1]);

  await page.getByRole("link", { name: "Jobs" }).first().click();
  await expect(page.getByRole("heading", { level: 1, name: "Jobs" })).toBeVisible();
  expect(await states(page), "one stream serves all pages").toEqual([2, 1]);
  await expect(notice(page)).toHaveCount(0);
});

function states(page: Page): Promise<number[]> {
  return page.evaluate(() => (window as unknown as { streams: EventSource[] }).streams.map((s) => s.readyState));
}

async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}

/** The first snapshot of the stream. */
async function oneSnapshot(): Promise<string> {
  const answer = await fetch(`${BASE_URL}/api/v1/live`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of answer.body ?? []) {
    text += decoder.decode(part, { stream: true });
    const data = /^data: ?(.*)\n/m.exec(text)?.[1];
    if (data) return data;
  }
  throw new Error(`no snapshot in: ${text}`);
}
