import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import { isLoopbackHost } from '../../http/base-url.ts';

/** The settings of every driver whose machines stand in a list. */
export const inventorySettings = (around: Surroundings) => ({
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
    .transform((text) => (text.startsWith('file:') ? pathOf(text, around.baseDirectory) : text)),
  refresh: leaf.duration('How often the list is read again.', 1_000).prefault('5m'),
  sshUser: leaf.text('User to log in as, where an entry names none.').prefault('root'),
  sshPasswords: z
    .record(NAME, leaf.secret('A password of users, for entries that name it.', around))
    .prefault({}),
  probePort: leaf
    .count('Port that is tried to tell whether a machine is up, if it names none.', 1, 65_535)
    .prefault(22),
  probeTimeout: leaf.duration('Limit of one such try.').prefault('3s'),
});

/** A name that entries call something by. */
export const NAME = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,30}$/, { error: 'is no name; give a-z, 0-9 and -' });

const pathOf = (text: string, baseDirectory: string): string =>
  text.startsWith('file://') ? fileURLToPath(text) : resolve(baseDirectory, text.slice(5));
