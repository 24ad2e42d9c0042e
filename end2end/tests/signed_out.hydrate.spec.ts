// A page whose session ends in another tab.
import { inSync, products } from "../fixtures/data";
import { PEOPLE } from "../fixtures/environment";
import { card } from "../fixtures/parts";
import { expect, hydrated, open, signIn, test } from "../fixtures/test";
import type { Page } from "@playwright/test";

/** Signs in with a session of its own, which the journey may end. */
async function enterWithOwnSession(page: Page, next: string): Promise<void> {
  await open(page, `/sign-in?next=${encodeURIComponent(next)}`);
  await signIn(page, PEOPLE.operator);
  await expect(page).toHaveURL(next);
  await hydrated(page);
}

async function signOutElsewhere(page: Page): Promise<void> {
  const other = await page.context().newPage();
  await open(other, "/");
  await other.getByRole("button", { name: "Sign out" }).click();
  await expect(other).toHaveURL(/\/sign-in$/);
  await other.close();
}

test("one sign-in leads from any link of the navigation to its page", async ({ page }) => {
  await enterWithOwnSession(page, "/");
  for (const [link, path] of [["Integrations", "/integrations"], ["Dead letters", "/dead-letters"], ["Records", "/records"]] as const) {
    await signOutElsewhere(page);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: new RegExp(`^${link}`) }).click();
    await expect(page).toHaveURL(`/sign-in?next=${encodeURIComponent(path)}`);
    await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
    await signIn(page, PEOPLE.operator);
    await expect(page).toHaveURL(path);
    await hydrated(page);
  }
});

test("a tab says that it is signed out, and a form sent from it says that nothing was done", async ({ page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, products(1));
  const path = `/integrations/${integration.id}`;
  await enterWithOwnSession(page, path);
  await signOutElsewhere(page);
  await expect(page.getByRole("main").getByRole("link", { name: "Signed out" })).toHaveAttribute("href", `/sign-in?next=${encodeURIComponent(path)}`);
  const form = card(page, "Edit limits");
  await form.getByLabel("Max attempts").fill("9");
  await form.getByRole("button", { name: "Save limits" }).click();
  await signIn(page, PEOPLE.operator);
  await expect(page.getByRole("alert")).toHaveText("Nothing was done: you are signed out.");
  await expect(form.getByLabel("Max attempts"), "what was typed is not lost").toHaveValue("9");
  await hydrated(page);
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect.poll(() => api.integration(integration.id)).toMatchObject({ max_attempts: 9 });
});
