import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Console, ConsoleDeps } from '../../../src/console/console.ts';
import type { SubmissionMeans } from '../../../src/console/api/submit/submit.ts';
import type { LiveMachine, MachineInsight } from '../../../src/console/views.ts';
import type { FleetView } from '../../../src/console/port.ts';
import type { Explanation } from '../../../src/domain/explanation/types.ts';
import { ladderStatus } from '../../../src/domain/explanation/ladder-status.ts';
import { DEFAULT_LADDER } from '../../../src/domain/recovery/ladder.ts';
import { ladderRow, machineRow } from '../../support/facts.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { openBrowser, type BrowserOptions, type HeldBrowser } from '../../support/browser.ts';
import { openConsole } from '../api/console-stand.ts';
import { AT_MS } from '../scripted-fleet.ts';

const EXPLAINED: Explanation = {
  sentence: 'Running \u00b7 silent for 14m because no heartbeat came within 10m; next: recovery.',
  ...{ sinceMs: AT_MS - 840_000, by: null, overdue: true },
  blockedBy: [
    {
      ...{ kind: 'hold', text: 'a hold no-recover of ann' },
      ...{ endsAtMs: AT_MS + 7_200_000, endedBy: 'the clock, or an operator' },
    },
  ],
  next: { work: 'recovery', atMs: AT_MS + 7_200_000, text: 'its agent is restarted' },
};

const RUNNING = { state: 'Running', substate: 'silent' } as const;
const LIVE: LiveMachine = {
  ...{ atMs: AT_MS, life: 'Running.resting', requests: null, task: null },
  ...{ shown: RUNNING, rows: RUNNING, agrees: true, last: null },
  // The hold ends at this time.
  timer: { from: RUNNING, to: RUNNING, atMs: AT_MS + 7_200_000 },
};

const LADDER: NonNullable<ReturnType<MachineInsight['ladder']>> = {
  ...ladderStatus(machineRow({ recovery: ladderRow({ attempts: 2 }) }), {
    means: { reboot: true, power: true, reinstall: true },
    ...{ policy: DEFAULT_LADDER, preserved: false, nowMs: AT_MS, askAgainMs: 0 },
  }),
  ...{ coolsUntilMs: AT_MS + 300_000, queue: { scope: 'location am6', place: 3, of: 5 } },
};
/** The explanation of a silent machine under a hold. */
export const SCRIPTED_INSIGHT: MachineInsight = {
  ...{ explain: async () => EXPLAINED, live: () => LIVE, ladder: () => LADDER },
  hardware: async () => ({
    report: { manufacturer: 'ACME', cpu: [{ vendor: '<b>CPU</b>', cores: 8 }] },
  }),
};

/** One browser for all tests of a file. Each test opens its own pages. */
export function useBrowser(options: BrowserOptions = { viewport: { width: 1280, height: 800 } }) {
  let browser: HeldBrowser;
  beforeAll(async () => void (browser = await openBrowser(options)));
  afterAll(() => browser.close());
  return {
    newPage: () => browser.newPage(),
    get context() {
      return browser.context;
    },
  };
}

/** A console of this fleet on a free port, or on the given port. It closes when the test ends. */
export const consoleOf = (
  fleet: FleetView,
  port = 0,
  more: Partial<ConsoleDeps> = {},
): Promise<Console> =>
  openConsole({
    listen: { host: '127.0.0.1', port },
    fleet,
    metrics: { expose: async () => ({ contentType: 'text/plain', body: '' }) },
    version: '9.9.9',
    insight: SCRIPTED_INSIGHT,
    submission: {
      requests: { list: async () => [] },
      ...{ providers: [], guard: () => [], pools: () => [], loss: DEFAULT_LOSS },
      ...{ nowMs: () => AT_MS, means: async () => null },
    } as unknown as SubmissionMeans,
    ...more,
  });

/** Waits until an element of the selector contains the text. */
export const becomes = (page: Page, selector: string, text: string | RegExp): Promise<void> =>
  page.locator(selector).filter({ hasText: text }).first().waitFor();

export interface ShownPage {
  readonly page: Page;
  readonly console: Console;
  /** Expects no complaint of the browser, and no request to another host. */
  isClean(): void;
  /** Expects the same, and closes the page. */
  done(): Promise<void>;
}

/** Opens the page of this fleet and waits until it is live. */
export async function showPage(
  browser: Pick<HeldBrowser, 'newPage'>,
  fleet: FleetView,
  { path = '', more = {} }: { readonly path?: string; readonly more?: Partial<ConsoleDeps> } = {},
): Promise<ShownPage> {
  const console = await consoleOf(fleet, 0, more);
  const { page, complaints } = await browser.newPage();
  const strangers: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(console.url)) strangers.push(request.url());
  });
  await page.goto(`${console.url}${path}`);
  await becomes(page, '.link', 'Live');
  const isClean = () =>
    expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
  return {
    page,
    console,
    isClean,
    async done() {
      isClean();
      await page.close();
    },
  };
}
