// Signing in and out.
import { PEOPLE } from "../fixtures/environment";
import { expectWellMade } from "../fixtures/page_checks";
import { expect, hydrated, open, signIn, test } from "../fixtures/test";

test("without a session every page leads to the sign-in and from there to the requested page", async ({ page }) => {
  for (const path of ["/", "/integrations", "/jobs/0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7", "/dead-letters", "/resyncs"]) {
    await page.goto(path);
    await expect(page, path).toHaveURL(/\/sign-in/);
  }
  await page.goto("/jobs?status=failed&q=sku");
  await expect(page).toHaveTitle("Sign in · Headgate");
  await hydrated(page);
  await signIn(page, PEOPLE.operator);
  await expect(page).toHaveURL("/jobs?status=failed&q=sku");
  await expect(page.getByRole("heading", { level: 1, name: "Jobs" })).toBeVisible();
});

test("a wrong password is refused, and the requested page is remembered", async ({ page }) => {
  await open(page, "/sign-in?next=%2Fresyncs");
  await signIn(page, { email: PEOPLE.operator.email, password: "not the password" });
  await expect(page.getByRole("alert")).toHaveText("Wrong e-mail address or password.");
  await hydrated(page);
  await expectWellMade(page);
  await signIn(page, PEOPLE.operator);
  await expect(page.getByRole("heading", { level: 1, name: "Re-syncs" })).toBeVisible();
});

test("signing in never leads to another site", async ({ page }) => {
  await open(page, "/sign-in?next=%2F%2Fevil.test%2Fjobs");
  await signIn(page, PEOPLE.operator);
  await expect(page).toHaveURL("/");
  await expect(page.getByRole("heading", { level: 1, name: "Overview" })).toBeVisible();
});

test("signing out ends the session", async ({ page }) => {
  await open(page, "/sign-in");
  await expectWellMade(page);
  await signIn(page, PEOPLE.support);
  await expect(page.getByText(PEOPLE.support.email)).toBeVisible();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/sign-in$/);
  await page.goto("/jobs");
  await expect(page).toHaveURL(/\/sign-in\?next=%2Fjobs$/);
});

test("an expired sign-in link says what to do", async ({ page }) => {
  await page.goto("/sign-in/link/0123456789abcdef");
  await expect(page.getByRole("alert")).toContainText("This link has expired or was already used");
  await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
});
