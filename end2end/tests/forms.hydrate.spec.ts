// What a form does while its request is under way, and after it.
import { type Page } from "@playwright/test";
import { inSync } from "../fixtures/data";
import { card, notice } from "../fixtures/parts";
import { enter, expect, open, test } from "../fixtures/test";

const EDIT = "**/console/edit-limits";

/** Keeps requests of the form of limits until `send`; counts them. */
async function held(page: Page) {
  const requests = { count: 0, send: () => {} };
  const released = new Promise<void>((resolve) => (requests.send = resolve));
  await page.route(EDIT, async (route) => {
    requests.count += 1;
    await released;
    await route.continue();
  });
  return requests;
}

test("a form is sent once, however often its button is pressed", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  const requests = await held(page);
  const form = card(page, "Edit limits");
  await form.getByLabel("Concurrency").fill("9");
  await form.getByRole("button", { name: "Save limits" }).dblclick();
  requests.send();
  await expect(notice(page)).toContainText("Limits saved");
  expect(requests.count).toBe(1);
});

/** Goes to the list of jobs, lets the request go, and waits until the page was drawn twice more: a redirect waits for the next frame. */
async function leave(page: Page, requests: { send: () => void }): Promise<void> {
  const answered = page.waitForResponse(EDIT);
  await page.getByRole("navigation").getByRole("link", { name: "Jobs", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Jobs");
  requests.send();
  await answered;
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

test("a success that comes late leaves its reader where they went", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  const requests = await held(page);
  const form = card(page, "Edit limits");
  await form.getByLabel("Concurrency").fill("9");
  await form.getByRole("button", { name: "Save limits" }).click();
  await leave(page, requests);
  await expect(page).toHaveURL("/jobs");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Jobs");
  expect(await api.integration(integration.id)).toMatchObject({ max_concurrency: 9 });
});

test("a refusal that comes late leaves its reader where they went", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  const requests = await held(page);
  const form = card(page, "Edit limits");
  await form.locator("form").evaluate((it: HTMLFormElement) => (it.noValidate = true));
  await form.getByLabel("Requests", { exact: true }).fill("2000000");
  await form.getByRole("button", { name: "Save limits" }).click();
  await leave(page, requests);
  await expect(page).toHaveURL("/jobs");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Jobs");
});

test("a request that fails leaves its reason at the form", async ({ page, role, sessions, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await enter(page, role, sessions);
  await open(page, `/integrations/${integration.id}`);
  await page.route(EDIT, (route) => route.abort("connectionfailed"));
  const form = card(page, "Edit limits");
  await form.getByLabel("Concurrency").fill("9");
  const reloads: string[] = [];
  page.on("request", (request) => request.url().includes("/console/integration?") && reloads.push(request.url()));
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect(form.getByRole("alert")).toContainText("Not done: ");
  await form.getByLabel("Max attempts").fill("3");
  await expect(form.getByRole("alert")).toContainText("Not done: ");
  expect(reloads, "nothing changed").toEqual([]);
});
