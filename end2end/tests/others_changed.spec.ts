// Two users change the same: the second one does not undo the changes of the first.
import { randomBytes } from "node:crypto";
import { inSync } from "../fixtures/data";
import { card, notice, row } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

const CHANGED = "Someone else changed it in the meantime. Nothing was saved: check the current values, then save again.";

test("a user's name is saved without overwriting the role that somebody else changed", async ({ console: page, api }) => {
  const email = `${randomBytes(4).toString("hex")}@example.test`;
  const user = (await api.createUser({ email, name: "Bo", role: "support", password: "a quiet long sentence" })) as { id: string };
  await open(page, "/settings");
  await page.getByRole("link", { name: `Edit ${email}` }).click();
  await page.getByLabel("Name", { exact: true }).fill("Bo Berg");
  await page.getByLabel("Disabled: cannot sign in").check();
  await api.call("PATCH", `/users/${user.id}`, { role: "auditor" });
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toHaveText(CHANGED);
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Bo Berg");
  await expect(page.getByLabel("Disabled: cannot sign in")).toBeChecked();
  await expect(page.getByLabel("Role"), "as it is now").toHaveValue("auditor");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(notice(page)).toHaveText("Saved.");
  await expect(row(page, "Users", email)).toContainText("Bo Berg");
  await expect(row(page, "Users", email)).toContainText("auditor");
  await api.call("DELETE", `/users/${user.id}`);
});

for (const path of ["/integrations/", "/rate-limits?edit="]) {
  test(`limits at ${path} are saved with typed values and those that others set`, async ({ console: page, api, app, receiver }) => {
    const integration = await inSync(api, app, receiver, [], { more: { max_concurrency: 3, retry_schedule: "1m" } });
    await open(page, `${path}${integration.id}`);
    const form = card(page, path === "/integrations/" ? "Edit limits" : `Limits of ${integration.name}`);
    await form.getByLabel("Max attempts").fill("9");
    await form.getByLabel("Retry schedule").fill("");
    await api.call("PATCH", `/integrations/${integration.id}`, { max_concurrency: 7 });
    await form.getByRole("button", { name: "Save limits" }).click();
    await expect(page.getByRole("alert")).toHaveText(CHANGED);
    await expect(form.getByLabel("Max attempts")).toHaveValue("9");
    await expect(form.getByLabel("Retry schedule")).toHaveValue("");
    await expect(form.getByLabel("Concurrency")).toHaveValue("7");
    await form.getByRole("button", { name: "Save limits" }).click();
    await expect(notice(page)).toHaveText(/Limits saved/);
    expect(await api.integration(integration.id)).toMatchObject({ max_attempts: 9, max_concurrency: 7, retry_schedule: null });
  });
}

test("a field that needs another one is refused with a message at the field", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  const form = card(page, "Edit limits");
  await form.getByLabel("Window, seconds", { exact: true }).fill("60");
  await form.getByLabel("Max debounce, seconds").fill("5");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect(page.getByRole("alert")).toHaveText(/Nothing was changed/);
  await expect(form.getByLabel("Window, seconds", { exact: true })).toHaveAccessibleDescription(/Needs the number of requests too\./);
  await expect(form.getByLabel("Max debounce, seconds")).toHaveAccessibleDescription(/Needs the debounce seconds too\./);
});
