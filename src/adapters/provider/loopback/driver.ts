import { z } from 'zod';
import { complaintAboutKeepingIn } from '../../../settings/file-checks.ts';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { Driver } from '../port.ts';
import { createLoopbackProvider } from './loopback-provider.ts';

const settings = (around: Surroundings) =>
  z.strictObject({
    dataDir: leaf
      .path('Where the machine’s state and private files are kept; made if absent.', around)
      .refine((path) => /^[\w@%+=:,./-]+$/.test(path), {
        error: 'has characters that a shell would read; give a plain path',
      }),
  });

/** This host, as one machine. */
export const loopbackDriver: Driver<z.output<ReturnType<typeof settings>>> = {
  name: 'loopback',
  settings,
  open: ({ dataDir }, context) => createLoopbackProvider(dataDir, context),
  async check({ dataDir }) {
    const complaint = complaintAboutKeepingIn(dataDir);
    return complaint === null ? [] : [{ key: 'dataDir', message: `cannot be used: ${complaint}` }];
  },
  givingBack: 'the private files of its machine are deleted; this host itself stays as it is',
  overlaps: (one, other) => (one.dataDir === other.dataDir ? 'dataDir' : null),
};
