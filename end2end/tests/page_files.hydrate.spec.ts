// Code splitting: each page loads its own part of the wasm, and no page is left half hydrated when a part is missing.
import type { Page } from "@playwright/test";
import { ADMIN_KEY, PEOPLE, port } from "../fixtures/environment";
import { Program } from "../fixtures/program";
import { enter, expect, listen, open, signIn, test } from "../fixtures/test";

const PAGES = [
  ["Integrations", "/integrations"],
  ["Workers", "/workers"],
  ["Rate limits", "/rate-limits"],
  ["Jobs", "/jobs"],
  ["Records", "/records"],
  ["Dead letters", "/dead-letters"],
  ["Failures", "/failures"],
  ["Bulk operations", "/operations"],
  ["Re-syncs", "/resyncs"],
  ["Audit log", "/audit-log"],
  ["Settings", "/settings"],
  ["Overview", "/"],
] as const;

test("each page loads its own part, only once", async ({ console: page }) => {
  await eachPageIsHydrated(page, "");
  await eachPageIsReachedByLinks(page, "");
});

test("parts are found below a mount prefix too", async ({ page }) => {
  const program = await Program.start(port(2), {
    HEADGATE_BASE_PATH: "/queues",
    HEADGATE_ADMIN_API_KEY: ADMIN_KEY,
    HEADGATE_ADMIN_EMAIL: PEOPLE.operator.email,
    HEADGATE_ADMIN_PASSWORD: PEOPLE.operator.password,
  });
  try {
    const complaints = listen(page);
    await open(page, `${program.url}/queues/sign-in`);
    await signIn(page, PEOPLE.operator);
    await expect(page).toHaveURL(`${program.url}/queues/`);
    await eachPageIsHydrated(page, `${program.url}/queues`);
    await eachPageIsReachedByLinks(page, `${program.url}/queues`);
    expect(complaints).toEqual([]);
  } finally {
    await program.stop();
  }
});

test("when a part is missing, a link loads the page from the server", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  await open(page, "/resyncs");
  await page.route("**/jobs.pack", (route) => route.fulfill({ status: 404 }), { times: 1 });
  await mark(page);
  await follow(page, "Jobs");
  await expect(page).toHaveURL("/jobs");
  expect(await isMarked(page), "loaded again").toBe(false);
});

test("when a part is missing, the page works as the server rendered it", async ({ page, sessions }) => {
  await enter(page, "operator", sessions);
  await page.route("**/jobs.pack", (route) => route.fulfill({ status: 404 }));
  await page.goto("/jobs?status=failed");
  await expect(page.getByRole("heading", { level: 1, name: "Jobs" })).toBeVisible();
  await page.getByRole("link", { name: "Pending" }).click();
  await expect(page).toHaveURL("/jobs?status=pending");
});

async function eachPageIsHydrated(page: Page, base: string): Promise<void> {
  for (const [, path] of PAGES) await open(page, `${base}${path}`);
  // No link of the navigation leads there.
  await open(page, `${base}/wall`);
}

async function eachPageIsReachedByLinks(page: Page, base: string): Promise<void> {
  const parts: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith(".pack")) parts.push(request.url());
  });
  await open(page, `${base}/`);
  await mark(page);
  for (const [name, path] of PAGES) {
    await follow(page, name);
    await expect(page).toHaveURL(`${base}${path}`);
  }
  await page.goBack();
  const [lastButOne] = PAGES.at(-2) ?? [];
  await expect(page.getByRole("heading", { level: 1, name: lastButOne })).toBeVisible();
  await page.goForward();
  await expect(page.getByRole("heading", { level: 1, name: "Overview" })).toBeVisible();
  expect(await isMarked(page), "never loaded again").toBe(true);
  const fetched = parts.filter((part) => !part.endsWith("/common.pack") && !part.endsWith("/overview.pack"));
  expect(fetched.length, `each part once: ${parts.join(" ")}`).toBe(new Set(fetched).size);
}

async function follow(page: Page, name: string): Promise<void> {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name }).first().click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
}

/** Marks the document; loading another one loses the mark. */
async function mark(page: Page): Promise<void> {
  await page.evaluate(() => document.body.classList.add("e2e-same-document"));
}

function isMarked(page: Page): Promise<boolean> {
  return page.evaluate(() => document.body.classList.contains("e2e-same-document"));
}
