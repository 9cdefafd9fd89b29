import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import { installSettings } from './install/settings.ts';
import { inventorySettings, NAME } from '../../kit/inventory/settings.ts';

/** What a configuration says of a rack. There is no switch that turns certificate checks off. */
export function settings(around: Surroundings) {
  const login = z.strictObject({
    username: leaf.text('Who logs in at BMCs.'),
    password: leaf.secret('The password of that login.', around),
  });
  return z.strictObject({
    ...inventorySettings(around),
    credentials: z.record(NAME, login).prefault({}),
    auth: leaf
      .choice(
        ['auto', 'session', 'basic'],
        'How to log in at BMCs; auto is by session, and where there is none by Basic.',
      )
      .prefault('auto'),
    caFile: leaf
      .file('Certificates, PEM, that sign those of BMCs; the system’s when absent.', around)
      .optional(),
    connectTimeout: leaf.duration('Limit of a connection to a BMC.', 100).prefault('10s'),
    readTimeout: leaf.duration('Limit of an answer of a BMC.', 100).prefault('60s'),
    bmcGap: leaf.duration('Least time between two requests to one BMC.').prefault('200ms'),
    bmcParallelism: leaf.count('BMCs that are spoken to at once.', 1, 1_000).prefault(64),
    powerPoll: leaf.duration('How often each machine’s power state is read.', 1_000).prefault('5m'),
    authPause: leaf
      .duration('How long a BMC that refused a login is left alone.', 1_000)
      .prefault('10m'),
    ownerMark: leaf
      .choice(['none', 'assetTag'], 'Where machines are marked as ours, for other fleets to see.')
      .prefault('none'),
    allowFullPowerCycle: leaf
      .flag('Whether a reset may take the power of a whole chassis slot, BMC included.')
      .prefault(false),
    bmcReset: leaf
      .flag('Whether a BMC that hangs is restarted for a recovery, at most once a day.')
      .prefault(false),
    install: installSettings(around).optional(),
  });
}
export type Settings = z.output<ReturnType<typeof settings>>;
