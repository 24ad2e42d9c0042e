// Settings: users, API keys, retention.
import { randomBytes } from "node:crypto";
import type { Page } from "@playwright/test";
import { BASE_URL, PEOPLE } from "../fixtures/environment";
import { expectWellMade } from "../fixtures/page_checks";
import { notice, row } from "../fixtures/parts";
import { enter, expect, open, signIn, test } from "../fixtures/test";

test("an operator adds a user, who signs in, and edits, disables and deletes the user", async ({ console: page, browser }) => {
  const email = `${randomBytes(4).toString("hex")}@example.test`;
  await open(page, "/settings");
  await expectWellMade(page);
  await page.getByRole("link", { name: "Add user" }).click();
  await expectWellMade(page);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill("password");
  await page.getByRole("button", { name: "Add user" }).click();
  await expect(page.getByRole("dialog").getByText(/not a common password/)).toBeVisible();
  await expect(page.getByLabel("E-mail address"), "what was typed stays").toHaveValue(email);
  await expect(page, "a password is never in an address").not.toHaveURL(/password=|draft%5Bpassword/);
  await page.getByLabel("Password").fill("a quiet long sentence");
  await page.getByRole("button", { name: "Add user" }).click();
  await expect(notice(page)).toHaveText("The user can sign in now.");
  const user = row(page, "Users", email);
  await expect(user).toContainText("support");
  await expect(user).toContainText("Active");

  const other = await (await browser.newContext({ baseURL: BASE_URL, javaScriptEnabled: false })).newPage();
  await other.goto("/sign-in");
  await signIn(other, { email, password: "a quiet long sentence" });
  await expect(other.getByRole("heading", { level: 1, name: "Overview" })).toBeVisible();

  await edit(page, email);
  await page.getByLabel("Disabled: cannot sign in").check();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(notice(page)).toHaveText("Saved.");
  await expect(user).toContainText("Disabled");
  await other.goto("/");
  await expect(other, "the session has ended").toHaveURL(/\/sign-in/);
  await other.context().close();

  await edit(page, email);
  await page.getByRole("dialog").getByRole("link", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete 1 user" }).click();
  await expect(notice(page)).toHaveText(/User deleted/);
  await expect(user).toHaveCount(0);
});

test("a taken address and the last operator are reported at their fields", async ({ console: page }) => {
  await open(page, "/settings?show=users&new=user");
  await page.getByLabel("E-mail address").fill(PEOPLE.support.email);
  await page.getByLabel("Password").fill("a quiet long sentence");
  await page.getByRole("button", { name: "Add user" }).click();
  await expect(page.getByText("already belongs to another user")).toBeVisible();
  await page.getByRole("link", { name: "Back" }).click();
  await edit(page, PEOPLE.operator.email);
  await page.getByLabel("Role").selectOption({ value: "support" });
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("this is the last operator: add another one first")).toBeVisible();
});

test("a key is shown once, works, and is refused after it was revoked", async ({ console: page }) => {
  const name = `importer-${randomBytes(3).toString("hex")}`;
  await open(page, "/settings?show=api-keys");
  await page.getByRole("link", { name: "Create key" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Role").selectOption({ value: "producer" });
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText(/producer and portal keys belong to one app/)).toBeVisible();
  await expect(page.getByLabel("Name")).toHaveValue(name);
  await page.getByLabel("Role").selectOption({ value: "auditor" });
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(notice(page)).toHaveText(/Copy it now/);
  const key = await page.getByRole("region", { name: "Your new key" }).locator("code").innerText();
  expect(key).toMatch(/^hg_auditor_/);
  expect(page.url(), "the key is never in the address").not.toContain(key);
  await expectWellMade(page);
  expect(await status(key)).toBe(200);
  const cookies = async () => (await page.context().cookies()).map((cookie) => cookie.name);
  await expect.poll(cookies, "the cookie with the key is gone").not.toContain("headgate-new-key");
  await expect(page.getByRole("region", { name: "Your new key" }).locator("code")).toHaveText(key);

  await open(page, "/settings?show=api-keys");
  await expect(page.getByText(key)).toHaveCount(0);
  const line = row(page, "API keys", name);
  await expect(line).toContainText("Active");
  const beginning = key.split("_").slice(0, 3).join("_");
  await expect(line.getByText(`${beginning}_…`, { exact: true })).toBeVisible();
  await line.getByRole("link", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "Revoke 1 key" }).click();
  await expect(notice(page)).toHaveText("Key revoked. Requests with it are refused.");
  await expect(line).toContainText("Revoked");
  expect(await status(key)).toBe(401);
});

test("retention is shown with disk usage and how to change it", async ({ console: page }) => {
  await open(page, "/settings?show=retention");
  await expect(row(page, "What is kept", "Finished jobs")).toContainText("7 days");
  await expect(row(page, "What is kept", "Dead letters")).toContainText("until requeued or purged");
  await expect(row(page, "What is kept", "Audit log")).toContainText("365 days");
  for (const name of ["", "DELETED_RECORD_", "RESYNC_", "OPERATION_", "AUDIT_"]) {
    await expect(page.getByText(`HEADGATE_${name}RETENTION`)).toBeVisible();
  }
  await expectWellMade(page);
});

test("support sees no settings, and an auditor changes nothing", async ({ page, sessions }) => {
  await enter(page, "support", sessions);
  expect((await page.goto("/settings"))?.status()).toBe(403);
  await page.context().clearCookies();
  await enter(page, "auditor", sessions);
  await open(page, "/settings");
  await expect(row(page, "Users", PEOPLE.auditor.email)).toContainText("(you)");
  await expect(page.getByRole("link", { name: /Add user|Edit/ })).toHaveCount(0);
  const refused = await page.request.post("/console/create-api-key", {
    form: { name: "x", role: "operator", back: "/settings" },
    headers: { origin: BASE_URL, accept: "text/html" },
    maxRedirects: 0,
  });
  expect(refused.headers()["location"]).toMatch(/notice=forbidden/);
});

async function edit(page: Page, email: string): Promise<void> {
  await page.getByRole("link", { name: `Edit ${email}` }).click();
}

async function status(key: string): Promise<number> {
  return (await fetch(`${BASE_URL}/api/v1/apps`, { headers: { authorization: `Bearer ${key}` } })).status;
}
