// The program does what its OpenAPI document says: schemathesis makes requests of the document, good ones and bad ones, and compares.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ADMIN_KEY, port } from "../fixtures/environment";
import { Program } from "../fixtures/program";
import { expect, hasJavaScript, test } from "../fixtures/test";

/** What must hold of each answer. That requests of the document's making are taken is no part: a cursor has a form no schema can tell. */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "unsupported_method",
  "allow_header_conformance",
  "ignored_auth",
];

test("every answer is one that the OpenAPI document tells of", async () => {
  test.skip(!hasJavaScript(), "no browser takes part: once is enough");
  test.setTimeout(600_000);
  const schemathesis = process.env.HEADGATE_TEST_SCHEMATHESIS;
  if (!schemathesis) throw new Error("HEADGATE_TEST_SCHEMATHESIS is not set: `cargo xtask test` installs schemathesis and sets it");
  // It makes users, keys and apps, and drains workers: not in the program of other journeys.
  const program = await Program.start(port(4), { HEADGATE_ADMIN_API_KEY: ADMIN_KEY, HEADGATE_LOG: "warn" });
  const folder = mkdtempSync(join(tmpdir(), "headgate-openapi-"));
  try {
    const run = promisify(execFile)(
      schemathesis,
      [
        ...["run", `${program.url}/api/openapi.json`],
        ...["--header", `Authorization: Bearer ${ADMIN_KEY}`],
        ...["--checks", CHECKS.join(",")],
        ...["--phases", "examples,coverage,fuzzing"],
        // Bounded, and the same on each run.
        ...["--max-examples", "10", "--seed", "1", "--no-shrink", "--continue-on-failure"],
        ...["--warnings", "off", "--no-color"],
      ],
      { cwd: folder, maxBuffer: 64_000_000 },
    );
    const told = await run.then(
      ({ stdout }) => stdout,
      (failed: { stdout?: string; message: string }) => `FAILED ${failed.message}\n${failed.stdout ?? ""}`,
    );
    expect(told.startsWith("FAILED") ? told : "", "what schemathesis found").toBe("");
    expect(told, "it found the document's operations").toMatch(/Tested: \d\d/);
  } finally {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
