// The screenshots of the README, from a running demo: `npm run screenshots -- FOLDER SIGN-IN-LINK`.
// `headgate demo` prints the link. If it was used already: the address alone, with HEADGATE_ADMIN_EMAIL and
// HEADGATE_ADMIN_PASSWORD set.
import { chromium, type Page } from "@playwright/test";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";

type Screen = { width: number; height: number; colorScheme: "light" | "dark" };

const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 375, height: 812 };

const [folder, link] = process.argv.slice(2);
if (!folder || !link) {
  console.error("usage: npm run screenshots -- FOLDER SIGN-IN-LINK");
  process.exit(2);
}
// npm runs scripts in the package's folder, but the argument is relative to the caller's.
const out = resolve(process.env.INIT_CWD ?? ".", folder);
mkdirSync(out, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.HEADGATE_TEST_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"],
});
const context = await browser.newContext({ baseURL: new URL(link).origin, viewport: WIDE, deviceScaleFactor: 1.5 });
const page = await context.newPage();
await enter(page, link);

await picture("/", "overview-light", { ...WIDE, colorScheme: "light" });
await picture("/", "overview-dark", { ...WIDE, colorScheme: "dark" });
await picture("/", "overview-phone", { ...PHONE, colorScheme: "light" });
await picture("/integrations", "integrations", { ...WIDE, colorScheme: "light" });
await picture(await first("/integrations", "Integrations"), "integration", { ...WIDE, colorScheme: "light" });
await picture("/dead-letters", "dead-letters", { ...WIDE, colorScheme: "dark" });
await picture(await first("/dead-letters?error=503", "Dead letters"), "job", { ...WIDE, colorScheme: "light" });
await browser.close();

async function enter(page: Page, link: string): Promise<void> {
  await page.goto(link);
  const { HEADGATE_ADMIN_EMAIL: email, HEADGATE_ADMIN_PASSWORD: password } = process.env;
  if (new URL(page.url()).pathname.endsWith("/sign-in") && email && password) {
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  }
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}

/** The address of a table's first row. */
async function first(path: string, table: string): Promise<string> {
  await page.setViewportSize(WIDE);
  await page.goto(path);
  const link = page.getByRole("region", { name: `${table}, table` }).locator("tbody").getByRole("link").first();
  return (await link.getAttribute("href")) ?? path;
}

async function picture(path: string, name: string, { width, height, colorScheme }: Screen): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.goto(path);
  await page.getByText(/^(Live|As of)/).first().waitFor();
  await page.locator("html[data-hydrated]").waitFor();
  await page.evaluate(() => document.fonts.ready);
  const file = join(out, `${name}.png`);
  await page.screenshot({ path: file });
  console.log(file);
}
