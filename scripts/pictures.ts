/**
 * Makes `docs/pictures/`: screenshots of the page with a simulated fleet, in both themes, and a
 * hash of the page's sources. With `--check` it makes nothing and exits 1 if the sources have
 * changed since: then the pictures may be outdated.
 */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { withBrowser } from '../test/support/browser.ts';
import { startSimulator } from './simulator.ts';

const root = join(import.meta.dirname, '..');
const FOLDER = join(root, 'docs/pictures');
const HASH_FILE = join(FOLDER, 'sources.sha256');
const MAX_BYTES = 100_000;
const VIEWPORT = { width: 1200, height: 720 };
const PATIENCE_MS = 180_000;

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const path of globSync('web/**/*.*', { cwd: root }).toSorted()) {
    hash.update(`${path}\0`).update(readFileSync(join(root, path)));
  }
  return hash.digest('hex');
}

/** Runs a simulated fleet with dying machines; `use` gets the login link. */
async function withSimulator(use: (link: string) => Promise<void>): Promise<void> {
  const simulator = await startSimulator(['--machines', '24', '--chaos']);
  try {
    await use(simulator.link);
  } finally {
    await simulator.stop();
  }
}

async function take(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const path = join(FOLDER, `${name}-${colorScheme}.png`);
    await page.screenshot({ path });
    const { size } = statSync(path);
    console.log(`${path}: ${Math.round(size / 1000)} kB`);
    if (size > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES} bytes`);
  }
}

async function make(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  await withSimulator((link) =>
    withBrowser(
      async ({ page }) => {
        page.setDefaultTimeout(PATIENCE_MS);
        await page.goto(link);
        await page.locator('.fleet-line', { hasText: /2\d healthy/ }).waitFor();
        await page.locator('.headline').waitFor();
        await take(page, 'fleet');
        await page.goto(new URL('/machines', page.url()).href);
        await page.locator('.list [data-slot]').first().waitFor();
        await page.locator('.list [data-slot] a.slot').first().click();
        await page.locator('.chart-panel [data-lit]').first().waitFor();
        await page.locator('.explained .sentence').waitFor();
        await take(page, 'machine');
      },
      { viewport: VIEWPORT },
    ),
  );
  writeFileSync(HASH_FILE, `${hashOfSources()}\n`);
}

if (!process.argv.includes('--check')) await make();
else if (readFileSync(HASH_FILE, 'utf8').trim() !== hashOfSources()) {
  console.error('docs/pictures shows an outdated page: run npm run pictures');
  process.exitCode = 1;
}
