// The processes that claim jobs, and draining one of them, which needs a program of its own because it is permanent.
import { ADMIN_KEY, PEOPLE, port } from "../fixtures/environment";
import { expectWellMade } from "../fixtures/page_checks";
import { notice, rows } from "../fixtures/parts";
import { Program } from "../fixtures/program";
import { enter, expect, hasJavaScript, listen, open, openUntil, signIn, test } from "../fixtures/test";

test("each process shows its health, and the leader its maintenance services", async ({ console: page }) => {
  await openUntil(page, "/workers", () =>
    expect(rows(page, "Maintenance").filter({ hasText: "Updates job counters" })).toContainText("Healthy", { timeout: 1_000 }),
  );
  const process = rows(page, "Processes");
  await expect(process).toHaveCount(1);
  await expect(process).toContainText("Live");
  await expect(process).toContainText("leader");
  await expect(process).toContainText(/\d+ of \d+/);
  await expect(page.getByRole("main").getByRole("alert"), "warnings stand only where something is wrong").toHaveCount(0);
  await expectWellMade(page);
});

test("draining asks first, says what follows, and is in the audit log", async ({ page }) => {
  const program = await Program.start(port(3), {
    HEADGATE_ADMIN_API_KEY: ADMIN_KEY,
    HEADGATE_ADMIN_EMAIL: PEOPLE.operator.email,
    HEADGATE_ADMIN_PASSWORD: PEOPLE.operator.password,
  });
  try {
    const complaints = listen(page);
    await open(page, `${program.url}/sign-in`);
    await signIn(page, PEOPLE.operator);
    await expect(page).toHaveURL(`${program.url}/`);
    await open(page, `${program.url}/workers`);
    await rows(page, "Processes").getByRole("link", { name: /^Drain/ }).click();
    const question = page.getByRole("dialog");
    await expect(question).toContainText("It has no job now.");
    await expect(question).toContainText("no more jobs until it is restarted");
    await expectWellMade(page);
    await question.getByRole("link", { name: "Back" }).click();
    await expect(question).toHaveCount(0);
    await expect(rows(page, "Processes")).toContainText("Live");

    await rows(page, "Processes").getByRole("link", { name: /^Drain/ }).click();
    await question.getByRole("button", { name: "Drain this process" }).click();
    await expect(notice(page).first()).toHaveText("Draining. It finishes its jobs and claims no more.");
    // It learns of it with its next heartbeat, and may have claimed a job by then.
    await expect(rows(page, "Processes")).toContainText("Draining");
    await expect(rows(page, "Processes")).not.toContainText("Drained");
    await expect(rows(page, "Processes").getByRole("link", { name: /^Drain/ })).toHaveCount(0);
    await expect(page.getByRole("alert")).toContainText("Every worker is draining");

    const answer = await fetch(`${program.url}/api/v1/audit-log?action=worker.drain`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
    const { items } = await answer.json();
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ actor_name: PEOPLE.operator.email, after: { is_draining: true } });
    expect(complaints).toEqual([]);
  } finally {
    await program.stop();
  }
});

test("an auditor reads and drains nothing; support is refused", async ({ page, sessions, browser }) => {
  await enter(page, "auditor", sessions);
  await open(page, "/workers");
  await expect(rows(page, "Processes")).toHaveCount(1);
  await expect(page.getByRole("link", { name: /^Drain/ })).toHaveCount(0);
  await page.goto("/workers?drain=00000000-0000-7000-8000-000000000000");
  await expect(page.getByRole("dialog")).toHaveCount(0);

  const other = await browser.newPage({ javaScriptEnabled: hasJavaScript() });
  await enter(other, "support", sessions);
  const refused = await other.goto("/workers");
  expect(refused?.status()).toBe(403);
  await expect(other.getByText("Your role cannot open this page")).toBeVisible();
  await open(other, "/integrations");
  await expect(other.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Workers" })).toHaveCount(0);
  await other.close();
});
