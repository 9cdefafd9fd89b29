import type { Page } from 'playwright-core';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { digestOf, makeSecret } from '../../../src/console/access/secrets.ts';
import type { ConsoleDeps } from '../../../src/console/console.ts';
import type { Role } from '../../../src/domain/access.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { AT_MS } from '../scripted-fleet.ts';
import { createMemBmdb, type MemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';

export interface Manned {
  readonly bmdb: MemBmdb;
  /** A console where people log in and file requests. */
  readonly more: Partial<ConsoleDeps>;
  /** Logs the browser in with a link of `shepherd ui`, which works once. */
  logIn(page: Page, url: string, role?: Role): Promise<void>;
}

/** The dependencies of a console with accounts, over a database in memory. Its clock begins at `AT_MS`. */
export function manned(): Manned {
  const behindMs = systemClock.now() - AT_MS;
  const clock = { ...systemClock, now: () => systemClock.now() - behindMs };
  const around = { clock, random: systemRandom };
  const bmdb = createMemBmdb({ ...around, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const submission: ConsoleDeps['submission'] = {
    requests: bmdb.requests,
    clock,
    loss: DEFAULT_LOSS,
    providers: ['equinix'],
    guard: () => [],
    pools: () => [],
    nowMs: () => clock.now(),
    givingBack: () => 'the device is deleted',
    givesBack: () => false,
    means: async () => null,
  };
  return {
    bmdb,
    more: {
      clock,
      accounts: { repository: bmdb.access, random: systemRandom, events: bmdb.events },
      submission,
      events: bmdb.events,
      webhooks: {
        repository: bmdb.webhooks,
        configured: [{ name: 'pager', host: 'hooks.test', types: ['guard.*'] }],
      },
    },
    async logIn(page, url, role = 'admin') {
      const code = makeSecret(systemRandom);
      const name = 'db:ann@host';
      const login = {
        ...{ digest: digestOf(code), name, identity: name, role, providers: null, tokenId: null },
      };
      await bmdb.access.codes.add(login);
      await page.goto(`${url}login#${code}`);
      await page.waitForURL(url);
    },
  };
}
