// Two people change the same: whoever is second takes back nothing of what the first one did.
import { randomBytes } from "node:crypto";
import { inSync } from "../fixtures/data";
import { card, notice, row } from "../fixtures/parts";
import { expect, open, test } from "../fixtures/test";

const CHANGED = "Somebody else changed it meanwhile. Nothing was saved: look at what it is now, then save again.";

test("a user's name is saved again without the role that somebody else has changed", async ({ console: page, api }) => {
  const email = `${randomBytes(4).toString("hex")}@example.test`;
  const user = (await api.createUser({ email, name: "Bo", role: "support", password: "a quiet long sentence" })) as { id: string };
  await open(page, "/settings");
  await page.getByRole("link", { name: `Edit ${email}` }).click();
  await page.getByLabel("Name", { exact: true }).fill("Bo Berg");
  await page.getByLabel("Signing in is refused").check();
  await api.call("PATCH", `/users/${user.id}`, { role: "auditor" });
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toHaveText(CHANGED);
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Bo Berg");
  await expect(page.getByLabel("Signing in is refused")).toBeChecked();
  await expect(page.getByLabel("Role"), "as it is now").toHaveValue("auditor");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(notice(page)).toHaveText("Saved.");
  await expect(row(page, "Users", email)).toContainText("Bo Berg");
  await expect(row(page, "Users", email)).toContainText("auditor");
  await api.call("DELETE", `/users/${user.id}`);
});

for (const path of ["/integrations/", "/rate-limits?edit="]) {
  test(`limits are saved again at ${path} with what was typed and what others set`, async ({ console: page, api, app, receiver }) => {
    const integration = await inSync(api, app, receiver, [], { more: { max_concurrency: 3, retry_schedule: "1m" } });
    await open(page, `${path}${integration.id}`);
    const form = card(page, path === "/integrations/" ? "Edit limits" : `Limits of ${integration.name}`);
    await form.getByLabel("Attempts of a job").fill("9");
    await form.getByLabel("Waits between attempts").fill("");
    await api.call("PATCH", `/integrations/${integration.id}`, { max_concurrency: 7 });
    await form.getByRole("button", { name: "Save limits" }).click();
    await expect(page.getByRole("alert")).toHaveText(CHANGED);
    await expect(form.getByLabel("Attempts of a job")).toHaveValue("9");
    await expect(form.getByLabel("Waits between attempts")).toHaveValue("");
    await expect(form.getByLabel("Jobs at once")).toHaveValue("7");
    await form.getByRole("button", { name: "Save limits" }).click();
    await expect(notice(page)).toHaveText(/Limits saved/);
    expect(await api.integration(integration.id)).toMatchObject({ max_attempts: 9, max_concurrency: 7, retry_schedule: null });
  });
}

test("a field that says nothing without another one is refused at its place", async ({ console: page, api, app, receiver }) => {
  const integration = await inSync(api, app, receiver, []);
  await open(page, `/integrations/${integration.id}`);
  const form = card(page, "Edit limits");
  await form.getByLabel("In how many seconds").fill("60");
  await form.getByLabel("Longest wait in seconds").fill("5");
  await form.getByRole("button", { name: "Save limits" }).click();
  await expect(page.getByRole("alert")).toHaveText(/Nothing was changed/);
  await expect(form.getByLabel("In how many seconds")).toHaveAccessibleDescription(/Needs the number of requests beside it\./);
  await expect(form.getByLabel("Longest wait in seconds")).toHaveAccessibleDescription(/Needs the seconds of quiet beside it\./);
});
