import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { BrowserContext, Page } from 'playwright-core';

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/chromium', import.meta.url));
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A test talks to this machine and to nobody else.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

/** Well within the limit of a test, so that the browser is closed before the test is given up. */
const WAIT_MAX_MS = 240_000;
/** What becomes of a stream when its page goes away. */
const ABORTED = 'net::ERR_ABORTED';

export interface BrowserOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
}

export interface OpenBrowser {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors and warnings of the console, uncaught exceptions and failed requests, in order. */
  readonly complaints: readonly string[];
}

/** A browser for the tests of a file, which open a page each. */
export interface HeldBrowser {
  readonly context: BrowserContext;
  newPage(): Promise<Omit<OpenBrowser, 'context'>>;
  /** Browser and profile are gone after it. */
  close(): Promise<void>;
}

/** Starts a real browser with a profile of its own. Whoever opens it closes it. */
export async function openBrowser(options: BrowserOptions = {}): Promise<HeldBrowser> {
  const executablePath = await installedChromium();
  const profile = await mkdtemp(join(tmpdir(), 'shepherd-browser-'));
  const forget = () =>
    rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      args: FLAGS,
      env: { ...process.env, HOME: profile, FONTCONFIG_FILE: await fontConfig(profile) },
      ...options,
    });
    context.setDefaultTimeout(WAIT_MAX_MS);
    return {
      context,
      async newPage() {
        const page = await context.newPage();
        return { page, complaints: complaintsOf(page) };
      },
      async close() {
        try {
          await context.close();
        } finally {
          await forget();
        }
      },
    };
  } catch (error) {
    await forget();
    throw error;
  }
}

/** Runs `use` with a real browser; browser and profile are gone when it returns or throws. */
export async function withBrowser<Result>(
  use: (browser: OpenBrowser) => Promise<Result>,
  options: BrowserOptions = {},
): Promise<Result> {
  const browser = await openBrowser(options);
  try {
    return await use({ context: browser.context, ...(await browser.newPage()) });
  } finally {
    await browser.close();
  }
}

function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    const type = message.type();
    if (type === 'error' || type === 'warning') complaints.push(`${type}: ${message.text()}`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    if (reason !== ABORTED) complaints.push(`failed: ${request.url()} ${reason}`);
  });
  return complaints;
}

/** The package holds the browser compressed, and unpacks it into the temporary directory: ours. */
const UNPACK = `
  const { default: chromium } = await import('@sparticuz/chromium');
  await chromium.executablePath();
`;

/**
 * Path of the browser, unpacked once into a cache inside node_modules. Several test files may do
 * this at the same time: each unpacks beside the cache, and the first rename wins.
 */
async function installedChromium(): Promise<string> {
  const executable = join(CACHE, 'chromium');
  if (existsSync(executable)) return executable;
  const parent = join(CACHE, '..');
  await mkdir(parent, { recursive: true });
  const staging = await mkdtemp(join(parent, 'chromium-'));
  try {
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', UNPACK], {
      cwd: parent,
      env: { ...process.env, TMPDIR: staging },
    });
    await rename(staging, CACHE).catch((error: unknown) => {
      if (!existsSync(executable)) throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return executable;
}

/** Text must be measurable on a machine without any font: the browser's package brings one. */
async function fontConfig(profile: string): Promise<string> {
  const path = join(profile, 'fonts.conf');
  const folders = ['/usr/share/fonts', join(CACHE, 'fonts')];
  const lines = folders.map((folder) => `<dir>${folder}</dir>`).join('');
  const cache = `<cachedir>${join(profile, 'font-cache')}</cachedir>`;
  await writeFile(path, `<?xml version="1.0"?><fontconfig>${lines}${cache}</fontconfig>`);
  return path;
}
