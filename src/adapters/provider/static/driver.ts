import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { Driver } from '../port.ts';
import { isLoopbackHost } from '../../http/base-url.ts';
import { complaintsAboutInventory } from './inventory-check.ts';
import { createStaticProvider } from './static-provider.ts';

const LISTING_PATIENCE_MS = 5_000;
/** Ten thousand machines are tried in ten seconds, not in one burst. */
const PROBE_GAP_MS = 1;

function settings(around: Surroundings) {
  const { baseDirectory } = around;
  return z.strictObject({
    inventory: leaf
      .text('Where the list of machines is: JSON, read again from time to time.', {
        matches: /^(file:.+|https?:\/\/[^\s@]+)$/,
        type: 'file:<path>, or an https URL without credentials',
      })
      .refine(
        (text) => !text.startsWith('http:') || isLoopbackHost(URL.parse(text)?.hostname ?? ''),
        {
          error:
            'is read in clear, so anybody on the way could put machines into it; give an https URL ' +
            '(plain http is allowed from loopback only)',
        },
      )
      .transform((text) => (text.startsWith('file:') ? pathOf(text, baseDirectory) : text)),
    refresh: leaf.duration('How often the list is read again.', 1_000).prefault('5m'),
    sshUser: leaf.text('User to log in as, where an entry names none.').prefault('root'),
    sshPasswords: z
      .record(
        z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, { error: 'is no name; give a-z, 0-9 and -' }),
        leaf.secret('A password of users, for entries that name it.', around),
      )
      .prefault({}),
    probePort: leaf
      .count('Port that is tried to tell whether a machine is up, if it names none.', 1, 65_535)
      .prefault(22),
    probeInterval: leaf.duration('How often each machine is tried.', 1_000).prefault('1m'),
    probeTimeout: leaf.duration('Limit of one such try.').prefault('3s'),
    probeParallelism: leaf.count('Tries at once.', 1, 1_000).prefault(32),
  });
}

const pathOf = (text: string, baseDirectory: string): string =>
  text.startsWith('file://') ? fileURLToPath(text) : resolve(baseDirectory, text.slice(5));

/** Machines that stand in a list: a file, or a page. */
export const staticDriver: Driver<z.output<ReturnType<typeof settings>>> = {
  name: 'static',
  settings,
  open: (own, context) =>
    createStaticProvider(
      {
        inventory: own.inventory,
        refreshMs: own.refresh,
        sshUser: own.sshUser,
        sshPasswords: own.sshPasswords,
        probePort: own.probePort,
        probes: {
          timeoutMs: own.probeTimeout,
          intervalMs: own.probeInterval,
          parallelism: own.probeParallelism,
          gapMs: PROBE_GAP_MS,
          patienceMs: LISTING_PATIENCE_MS,
        },
      },
      context,
    ),
  check: ({ inventory, sshPasswords }, { hostKeyPolicy }) =>
    complaintsAboutInventory(inventory, new Set(Object.keys(sshPasswords)), hostKeyPolicy),
  // Its machines may be anywhere, and the list is where a key can be said.
  hostKeyPolicy: 'strict',
  givingBack:
    'its agent is stopped and Shepherd lets go of it; its system and its disks stay as they are. It ' +
    'is not taken in again, listed or not, until somebody does: machine unhold --kind no-allocate',
  overlaps: (one, other) => (one.inventory === other.inventory ? 'inventory' : null),
};
