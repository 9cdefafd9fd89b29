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
  // A test connects to this computer only.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

/** Well within a test's limit, so that the browser closes before the test times out. */
const WAIT_MAX_MS = 240_000;
/** Error of a stream whose page goes away. */
const ABORTED = 'net::ERR_ABORTED';

export interface BrowserOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
}

export interface OpenBrowser {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Console errors and warnings, uncaught exceptions and failed requests, in order. */
  readonly complaints: readonly string[];
}

/** One browser for all tests of a file, each with its own page. */
export interface HeldBrowser {
  readonly context: BrowserContext;
  newPage(): Promise<Omit<OpenBrowser, 'context'>>;
  /** Removes browser and profile. */
  close(): Promise<void>;
}

/** Starts a real browser with its own profile. The caller closes it. */
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

/** Runs `use` with a real browser, and removes browser and profile when it returns or throws. */
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

/** The package holds the browser compressed, and unpacks it into our temporary directory. */
const UNPACK = `
  const { default: chromium } = await import('@sparticuz/chromium');
  await chromium.executablePath();
`;

/**
 * Path of the browser, unpacked once into a cache inside node_modules. Several test files may
 * unpack at the same time: each unpacks beside the cache, and the first rename wins.
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

/** Makes text measurable on a computer without fonts: the browser's package brings a font. */
async function fontConfig(profile: string): Promise<string> {
  const path = join(profile, 'fonts.conf');
  const folders = ['/usr/share/fonts', join(CACHE, 'fonts')];
  const lines = folders.map((folder) => `<dir>${folder}</dir>`).join('');
  const cache = `<cachedir>${join(profile, 'font-cache')}</cachedir>`;
  await writeFile(path, `<?xml version="1.0"?><fontconfig>${lines}${cache}</fontconfig>`);
  return path;
}
